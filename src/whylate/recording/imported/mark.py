"""The file by which an imported recording is known."""

from __future__ import annotations

from pathlib import Path

NAME = "import.json"


def is_imported(directory: Path) -> bool:
    """Whether a directory is an imported recording, whatever its state."""
    try:
        return (directory / NAME).is_file()
    except OSError:
        # An impossible name, or no permission: opening it reports that.
        return False
