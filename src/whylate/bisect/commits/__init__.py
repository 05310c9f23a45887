"""Commits of a git repository, as a history to search."""
