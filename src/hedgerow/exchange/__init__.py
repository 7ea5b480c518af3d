"""Exchange: models -> model files and models of other libraries, and back."""
