"""The names of faults on a board."""

from __future__ import annotations

import hashlib

from whylate.lab.faults.catalogue import Fault


def alias(fault: Fault, disguise: str = "") -> str:
    """Return a name for files, modules, threads and interrupts, short enough to be a thread's.

    disguise: any text gives a name that does not reveal the fault, the same for the same text.
    """
    if not disguise:
        return fault.name.replace("-", "_")
    return "m" + hidden(disguise, fault.name)


def hidden(disguise: str, name: str) -> str:
    """Return eight hexadecimal digits in place of a name."""
    return hashlib.sha256(f"{disguise}\0{name}".encode()).hexdigest()[:8]
