"""Target: labels or numbers, and weights -> what trees are grown on."""
