"""The error of hybrids."""

from __future__ import annotations


class HybridError(Exception):
    """A hybrid that cannot be made, or two roots of which none can; says why."""
