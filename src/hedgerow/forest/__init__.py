"""Forest: binned rows and a target -> trees whose leaves keep their evidence, and every way to read them."""
