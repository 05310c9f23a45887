"""What --json prints."""

from __future__ import annotations

import sys


def print_json(document: object) -> None:
    """Print one JSON object, indented, and nothing else."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    sys.stdout.write(text.decode() + "\n")
