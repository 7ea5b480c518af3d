"""Fits: an estimator, a table and y -> a fitted model; `task` lists what a prediction type defines."""
