"""Prediction types: one package or module per type; `hedgerow.fit.task` lists what each defines."""
