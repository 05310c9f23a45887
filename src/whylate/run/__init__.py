"""One run, from start to end."""
