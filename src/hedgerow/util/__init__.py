"""Files, text, threads and blocks of rows: helpers that know nothing of trees."""
