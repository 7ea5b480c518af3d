"""Parameters of estimators: table, checks and resolution."""
