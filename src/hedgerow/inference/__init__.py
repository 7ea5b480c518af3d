"""Predictions, evidence and out-of-bag evaluation of a fitted forest."""
