"""Tables in files of all formats."""
