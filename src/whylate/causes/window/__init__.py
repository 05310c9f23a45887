"""One window of events: cut into pieces, each with one cause."""
