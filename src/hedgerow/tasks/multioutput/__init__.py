"""Several outputs of one type."""
