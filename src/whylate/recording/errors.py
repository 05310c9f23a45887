"""What can be wrong with a recording."""

from __future__ import annotations


class RecordingError(Exception):
    """A recording that cannot be made or read: one line: the reason, and what to do."""


class DiskError(RecordingError):
    """The disk is full or fails while a recording is written; what was written is kept."""


class LackingError(RecordingError):
    """A recording that does not have what is asked of it: there can be no verdict."""
