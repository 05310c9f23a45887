"""Injected faults that cause latency on a board, to test whether they are found."""
