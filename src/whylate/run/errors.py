"""What cannot be asked of a run."""

from __future__ import annotations


class RequestError(Exception):
    """A request that cannot be met: one line that says what to ask instead."""
