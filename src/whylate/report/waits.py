"""The table of waits that the terminal and the page share: what a program's threads waited for."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.quantities import format_count, format_ns
from whylate.summary.model import Summary, WaitFigures
from whylate.text import plain

#: The headings of a row of wait_rows().
COLUMNS = ("thread", "waited in", "woken by", "waits", "total", "p50", "p99", "max")
#: How many of them are text; the others are numbers.
TEXTS = 3
UNKNOWN = "not known"
#: Of all others: they were waited in many places, and woken by many.
NOTHING = "–"
NOTE = "Waits before wakeups: off the CPU until due. This time is in no latency."


def wait_rows(waits: Sequence[WaitFigures], most: int) -> list[tuple[str, ...]]:
    """Write a row for each of the first `most` groups of waits, by COLUMNS."""
    return [
        (
            _thread(wait.name, wait.pid) if wait.pid else "all others",
            _place(wait),
            _waker(wait),
            format_count(wait.count),
            format_ns(wait.total_ns),
            *("–" if ns is None else format_ns(ns) for ns in (wait.p50_ns, wait.p99_ns)),
            format_ns(wait.max_ns),
        )
        for wait in waits[:most]
    ]


def left_out(summary: Summary, most: int, where: str) -> str:
    """Say what the table lacks: groups, and wakeups of which no wait is known; empty: nothing."""
    parts = []
    if len(summary.waits) > most:
        parts.append(
            f"{format_count(len(summary.waits) - most)} more groups of waits are in {where}"
        )
    if summary.wakeups_without_wait:
        count = format_count(summary.wakeups_without_wait)
        parts.append(f"before {count} wakeups the wait is not known")
    return "; ".join(parts)


def _thread(name: str | None, pid: int | None) -> str:
    return f"{plain(name, 40)}/{pid}" if name else f"pid {pid}"


def _place(wait: WaitFigures) -> str:
    """Say what was waited in: a system call and its futex, and the state where it is not usual."""
    call = plain(wait.system_call or "", 40)
    place = f"{call} {wait.futex}" if wait.futex else call
    state = "" if wait.state == "interruptible" else wait.state
    if not wait.origin:
        return NOTHING
    return f"{place}, {state}" if place and state else place or state or UNKNOWN


def _waker(wait: WaitFigures) -> str:
    if wait.waker:
        return _thread(wait.waker_name, wait.waker)
    return wait.origin or NOTHING
