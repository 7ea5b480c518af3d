"""Trees without labels."""
