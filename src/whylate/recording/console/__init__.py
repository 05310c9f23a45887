"""What the console of a board printed: the log that is kept, and the crashes in it."""
