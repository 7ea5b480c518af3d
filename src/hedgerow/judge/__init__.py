"""Judge: a forest and rows -> opinions, and how good they are, out of bag too."""
