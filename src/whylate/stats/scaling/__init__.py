"""Laws of how throughput and latency grow with a number that was swept."""
