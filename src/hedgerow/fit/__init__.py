"""The generic fit, incremental updates, merging and checkpoints."""
