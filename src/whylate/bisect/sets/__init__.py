"""Bisections of sets of differences: the search, its runs and its answer, whatever differs."""
