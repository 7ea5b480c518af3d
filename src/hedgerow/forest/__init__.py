"""Forest: binned rows and a target -> trees whose leaves keep their evidence, and all ways to read these trees."""
