"""What --json prints."""

from __future__ import annotations

import sys


def print_json(document: object) -> None:
    """Print one JSON object, indented, and nothing else."""
    import msgspec

    # JSON is UTF-8, whatever the terminal is.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    sys.stdout.buffer.flush()
