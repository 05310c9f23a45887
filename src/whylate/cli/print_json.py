"""What --json prints."""

from __future__ import annotations

import sys
from numbers import Integral, Real


def print_json(document: object) -> None:
    """Print one JSON object, indented, and nothing else."""
    import msgspec

    text = msgspec.json.encode(document, enc_hook=_plain)
    # JSON is UTF-8, whatever the terminal is.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: object) -> int | float:
    """Return a number of numpy's as Python's."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise NotImplementedError(f"{type(value).__name__} is nothing that JSON has")
