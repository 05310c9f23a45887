"""Statistics of the latencies of one run."""
