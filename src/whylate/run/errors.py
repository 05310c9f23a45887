"""The error of a wrong request."""

from __future__ import annotations


class RequestError(Exception):
    """A request that cannot be met: one line with what to ask for instead."""
