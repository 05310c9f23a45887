"""Whose wakeups are explained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Watch:
    """Threads by number and by name; a name's length is the kernel's: 15 characters.

    all_threads: whoever is woken. tracers: the threads of timerlat and osnoise, by what these
    tracers measured themselves.
    """

    pids: frozenset[int] = frozenset()
    names: frozenset[bytes] = frozenset()
    all_threads: bool = False
    tracers: bool = False

    def has(self, pid: int, name: bytes) -> bool:
        """Return whether a thread is watched."""
        return self.all_threads or pid in self.pids or name in self.names


#: A thread's name in the kernel is no longer.
LONGEST = 15


def kernel_name(name: str) -> bytes:
    """Return a name as the kernel would keep it: cut after 15 bytes."""
    return name.encode("utf-8", "surrogateescape")[:LONGEST]
