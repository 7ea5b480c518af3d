"""Target: what rows are labelled with -> what trees are grown for, and how it is read."""
