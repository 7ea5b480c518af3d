"""Trees, the evidence of their leaves, and ways to read them."""
