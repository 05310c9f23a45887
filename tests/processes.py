"""What tests ask of the processes of this machine."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path


def lives(pid: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and that are still there."""
    found = []
    # It, or a thread of it, may end meanwhile.
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += [int(word) for word in (task / "children").read_text().split()]
    return found


def descendants_of(pid: int) -> list[int]:
    """Return a process's children, theirs, and so on."""
    children = children_of(pid)
    return children + [below for child in children for below in descendants_of(child)]


def probes_below() -> list[int]:
    """Return this process's probes, and what they started: other tests have probes as well."""
    names = {pid: Path(f"/proc/{pid}/cmdline") for pid in descendants_of(os.getpid())}
    return [pid for pid, path in names.items() if path.exists() and b"probe" in path.read_bytes()]


def programs_of(pid: int) -> dict[int, int]:
    """Return the ids of the BPF programs that a process holds, each with its verified instructions.

    0 where the kernel does not say how many these are (before Linux 5.16).
    """
    programs = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s*(\d+)$", info.read_text(), re.MULTILINE))
        if "prog_id" in fields:
            programs[int(fields["prog_id"])] = int(fields.get("verified_insns", 0))
    return programs
