"""Safe: bytes and text of any origin -> files that appear whole, and text that can be stored and shown."""
