"""Files, text, threads, blocks of rows and older dependencies: helpers independent of trees."""
