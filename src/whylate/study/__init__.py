"""Plans of many runs: measure, judge, again until decided."""
