"""Faults that are injected into a board in real time."""
