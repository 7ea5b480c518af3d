"""What people see of each prediction type."""
