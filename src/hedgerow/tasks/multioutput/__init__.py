"""Multi-output classification and regression."""
