"""HTML pages of one file."""
