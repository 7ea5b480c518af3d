"""Survival: right-censored times to an event."""
