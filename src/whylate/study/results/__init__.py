"""What the runs of a study show so far: comparisons, effects, and their page."""
