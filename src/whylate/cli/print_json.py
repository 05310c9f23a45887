"""--json, and what it prints."""

from __future__ import annotations

import sys
from numbers import Integral, Real

from whylate.cli.option_groups import Heading, option_under

json_option = option_under(Heading.OUTPUT)(
    "--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")  # fmt: skip


def print_json(document: object) -> None:
    """Print one JSON object, indented, and nothing else."""
    import msgspec

    try:
        text = msgspec.json.encode(document, enc_hook=_python_number)
    except UnicodeEncodeError:  # a file name need not be UTF-8
        text = msgspec.json.encode(_utf8(msgspec.to_builtins(document, enc_hook=_python_number)))
    # JSON is UTF-8, whatever the terminal is.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    sys.stdout.buffer.flush()


def print_document(name: str, content: object) -> None:
    """Print a struct or a mapping as one of whylate's documents, with its format and version."""
    import msgspec

    keys = msgspec.to_builtins(content, enc_hook=_python_number)
    print_json({"format": f"whylate-{name}", "version": 1, **keys})


def _utf8(value: object) -> object:
    """Return a value with escapes for the bytes that are not UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_utf8(key): _utf8(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_utf8(inner) for inner in value]
    return value


def _python_number(value: object) -> int | float:
    """Return a number of numpy as one of Python."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
