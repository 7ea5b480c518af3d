"""Prediction types: one package per type."""
