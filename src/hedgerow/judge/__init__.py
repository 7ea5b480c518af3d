"""Judge: a fitted forest and rows -> answers, how good they are, and what is learned on out-of-bag rows."""
