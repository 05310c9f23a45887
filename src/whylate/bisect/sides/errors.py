"""Why a side cannot be read."""

from __future__ import annotations


class SideError(Exception):
    """A side cannot be read; one line for the user."""
