"""The errors of boards."""

from __future__ import annotations


class BoardError(Exception):
    """A board that cannot be used, and what to do about it."""


class BoardBusyError(BoardError):
    """Somebody else holds the board; the text names them."""
