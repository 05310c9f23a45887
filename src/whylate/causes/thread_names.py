"""Threads of one name distinguished, and a thread that renames itself kept together.

A window has a thread's name and pid at each switch. Within a run several threads may have one name,
and one thread several names. While windows are cut, each name carries its pid; when all are cut, it
is known what to call them. The rule, over the time of late activations:

1. A thread is a pid and when it began. Names whose beginnings are not known, or differ, are names
   of different threads: pids are used again.
2. A thread that has at least PART of the time of its name stands for itself, with its pid where the
   name has others. The rest of that name is one: so are short-lived processes and large pools.
3. A thread that stands for itself and has several names has the latest one, and those before.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from whylate.causes.population import Breakdown
from whylate.recording.events import Event, Kind, Window
from whylate.recording.manifest import TaskName

#: What a thread must have of its name's time to be named alone.
PART = 0.10
#: Around a name, and between it and its pid: no name of a board holds control characters.
_BEGIN, _PID, _END = "\x01", "\x02", "\x03"
_MARKED = re.compile(r"\x01([^\x01-\x03]*)\x02(\d+)\x03")

#: A thread: its pid, and when it began, or its name where that is not known.
_Thread = tuple[int, int | str]


class ThreadNames:
    """Collects threads while windows are cut, and gives them their names afterwards."""

    def __init__(self, tasks: Iterable[TaskName]) -> None:
        self._began = {(task.pid, task.name): task.start for task in tasks}
        self._spent: Counter[tuple[int, str]] = Counter()
        self._first_ns: dict[tuple[int, str], int] = {}
        self._shown: dict[tuple[int, str], str] | None = None
        self._settled: dict[str, str] = {}

    def marked(self, window: Window) -> Window:
        """Return a window in which each thread's name carries its pid."""
        return replace(window, events=tuple(_marked(event) for event in window.events))

    def add(self, breakdown: Breakdown) -> None:
        """Count the time of threads in a late activation that was cut of a marked window."""
        for piece in breakdown.pieces or ():
            for name, pid in _MARKED.findall(piece.detail):
                key = int(pid), name
                self._spent[key] += piece.length_ns
                first_ns = min(self._first_ns.get(key, piece.start_ns), piece.start_ns)
                self._first_ns[key] = first_ns

    def named(self, breakdown: Breakdown) -> Breakdown:
        """Return a breakdown with the threads' final names; nothing is added afterwards."""
        if breakdown.pieces is None:
            return breakdown
        pieces = tuple(
            replace(piece, detail=self._name(piece.detail)) if _BEGIN in piece.detail else piece
            for piece in breakdown.pieces
        )
        return replace(breakdown, pieces=pieces)

    def _name(self, detail: str) -> str:
        if self._shown is None:
            self._shown = self._settle()
        shown = self._shown
        if detail not in self._settled:
            self._settled[detail] = _MARKED.sub(
                lambda match: shown.get((int(match[2]), match[1]), match[1]), detail
            )
        return self._settled[detail]

    def _settle(self) -> dict[tuple[int, str], str]:
        """Return what each pid is called under each of its names."""
        of_name: dict[str, Counter[_Thread]] = defaultdict(Counter)
        names: dict[_Thread, list[str]] = defaultdict(list)
        for pid, name in sorted(self._spent, key=lambda key: (self._first_ns[key], key)):
            thread = self._thread(pid, name)
            of_name[name][thread] += self._spent[pid, name]
            names[thread].append(name)
        return {
            (pid, name): self._label(self._thread(pid, name), name, of_name, names)
            for pid, name in self._spent
        }

    def _thread(self, pid: int, name: str) -> _Thread:
        return pid, self._began.get((pid, name), name)

    def _label(
        self,
        thread: _Thread,
        name: str,
        of_name: dict[str, Counter[_Thread]],
        names: dict[_Thread, list[str]],
    ) -> str:
        own = names[thread]
        spent = sum(of_name[each][thread] for each in own)
        if spent >= PART * sum(of_name[each].total() for each in own):
            name = own[-1]
            others = any(len(of_name[each]) > 1 for each in own)
            former = f"was {', '.join(own[:-1])}" if len(own) > 1 else ""
            about = ", ".join(filter(None, (f"pid {thread[0]}" if others else "", former)))
            return f"{name} ({about})" if about else name
        threads = of_name[name]
        rest = [each for each, ns in threads.items() if ns < PART * threads.total()]
        if len(rest) <= 1:
            return f"{name} (pid {thread[0]})"
        return f"{name} ({len(rest)} {'others' if len(rest) < len(threads) else 'threads'})"


def _marked(event: Event) -> Event:
    if event.kind is not Kind.SWITCH or not event.id:
        return event
    name = re.sub(f"[{_BEGIN}-{_END}]", "?", event.name)
    return replace(event, name=f"{_BEGIN}{name}{_PID}{event.id}{_END}")
