"""Fit: parameters, a table and a target -> a fitted model; more rows, more trees, merged forests."""
