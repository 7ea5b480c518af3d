"""Exchange: models -> files and programs elsewhere, and back."""
