"""When recordings and forecasts are made, as their files have it."""

from __future__ import annotations

from datetime import UTC, datetime


def now_text() -> str:
    """Return the time of day in UTC, in ISO 8601.

    It has milliseconds, so that a run that begins in the second of its forecast is known to come
    after it.
    """
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def text_of(seconds: float) -> str:
    """Return a moment, in seconds since 1970, in the same way, in whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
