"""What tests ask of the processes of this machine."""

from __future__ import annotations

from pathlib import Path


def lives(pid: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
