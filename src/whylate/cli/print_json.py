"""What --json prints."""

from __future__ import annotations

import sys
from numbers import Integral, Real


def print_json(document: object) -> None:
    """Print one JSON object, indented, and nothing else."""
    import msgspec

    try:
        text = msgspec.json.encode(document, enc_hook=_plain)
    except UnicodeEncodeError:  # a name of a file need not be UTF-8
        text = msgspec.json.encode(_utf8(msgspec.to_builtins(document, enc_hook=_plain)))
    # JSON is UTF-8, whatever the terminal is.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    sys.stdout.buffer.flush()


def _utf8(value: object) -> object:
    """Return a value whose bytes that are no UTF-8 are written as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_utf8(key): _utf8(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_utf8(inner) for inner in value]
    return value


def _plain(value: object) -> int | float:
    """Return a number of numpy's as Python's."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise NotImplementedError(f"{type(value).__name__} is nothing that JSON has")
