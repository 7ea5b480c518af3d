"""Prediction types, one package or module each (see `hedgerow.fit.task`)."""
