"""In what two sides differ, by kind."""
