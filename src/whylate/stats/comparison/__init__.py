"""Whether sets of runs differ, by how much, and when to stop."""
