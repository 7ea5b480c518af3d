"""Benchmarks: hedgerow beside the forests a user would pick instead, measured in one run."""
