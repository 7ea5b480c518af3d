"""Parameters of estimators: the table of all of them, their checks, and the numbers that trees are grown with."""
