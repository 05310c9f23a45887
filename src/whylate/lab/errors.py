"""Errors of the lab."""


class LabError(Exception):
    """A virtual board cannot be built or described: one line with what to do."""
