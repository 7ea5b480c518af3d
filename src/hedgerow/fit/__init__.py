"""Fit: parameters and a table -> everything a fitted model is made of."""
