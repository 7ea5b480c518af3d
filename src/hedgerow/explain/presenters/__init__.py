"""Presenters: what people see of each prediction type, on the command line and in reports."""
