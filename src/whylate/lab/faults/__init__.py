"""Injected faults of latency, put on a board to see whether they are found."""
