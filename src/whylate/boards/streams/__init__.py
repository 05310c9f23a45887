"""Byte streams to a probe: child processes, and what other lines share."""
