"""Knobs: named settings that a run applies, reads back, and restores."""
