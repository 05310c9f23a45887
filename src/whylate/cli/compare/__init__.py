"""Verbs that compare recordings: compare, baseline, bound, diff."""
