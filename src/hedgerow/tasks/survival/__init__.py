"""Survival analysis of right-censored times."""
