"""The noisy search for a step in an ordered history, with the measured values."""
