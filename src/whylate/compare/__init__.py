"""Verdicts between recordings."""
