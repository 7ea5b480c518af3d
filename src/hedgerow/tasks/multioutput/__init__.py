"""Several targets at once."""
