"""The error of the lab."""

from __future__ import annotations


class LabError(Exception):
    """A virtual board cannot be built or described: one line with what to do."""
