"""Bisections of an ordered history: the search, its runs and its answer, whatever is ordered."""
