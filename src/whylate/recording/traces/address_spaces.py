"""Switches between address spaces from a trace of sched_switch and tlb_flush.

On x86 tlb_flush follows each switch between address spaces, on its CPU: with no pages where the
CPU's identifier for the address space is still valid, else with all of them. So it shows which
switches of threads are switches of address spaces, also where a thread executes another program and
gets a new one. A kernel without that event (arm64) has only switches of threads: then each process
is an address space, and the kernel's threads, which borrow the last, are known by their names.

Both events are read from the text of ftrace, trace-cmd or perf. With the option record-tgid threads
of one process are known as such; else as processes of their own.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.flush_reasons import FLUSH_REASONS
from whylate.recording.traces.fields import switch_of
from whylate.recording.traces.layouts import Layout, layout_of
from whylate.recording.traces.lines import Lines

#: Events of a trace, and processes in it: what is larger takes memory that no figure needs.
MOST_EVENTS = 20_000_000
_HEAD_LINES = 2000
#: Digits of a time.
_SECONDS = 9
_ON_SWITCH = 0
#: The process changed its own translations; who runs it elsewhere is interrupted.
_UNMAPPED = (2, 3, 4)
_FLUSH = re.compile(rb"pages[:=](-?\d{1,20}) reason[:=].{0,40}?\(?(\d{1,2})\)?$")
_TGID = re.compile(rb"-(\d{1,10}) +\( *(\d{1,10})\) +\[")
#: Threads of the kernel, by the names that it gives them: of a CPU, device or queue; numbered; or
#: single. The trace shows nothing else of them: no address space, and state I only of some.
_OF_KERNEL = re.compile(
    rb"^(?:"
    rb"(?:swapper|kworker|ksoftirqd|ktimers|ktimersoftd|migration|cpuhp|irq|irq_work|idle_inject|"
    rb"backlog_napi|napi|posixcputmr|rcu[bc]|rcuo[pgs]?|watchdog|jbd2|xfsaild|mmcqd|pr)/|"
    rb"rcu_|"
    rb"(?:kswapd|kcompactd|kdamond\.|scsi_eh_|scsi_tmf_|sugov:)\d|"
    rb"(?:kthreadd|khugepaged|khungtaskd|kdevtmpfs|ksmd|kauditd|kblockd|oom_reaper|watchdogd|"
    rb"pool_workqueue_release|pool_workqueue_)$"
    rb")"
)


@dataclass(frozen=True)
class SpaceTrace:
    """Switches between address spaces, and what the kernel did at them.

    time_ns, cpu, mm: int64, shape (rows,), in the order of the trace; mm: the address space's
    number. changed: bool, the row is no switch, but a change of the address space's translations by
    a thread on that CPU. flushed: how many switches flushed; None: the kernel does not report it.
    reasons: flushes by reason. threads: switches of threads. spaces: address spaces. unread: lines
    of these two events that were not understood.
    """

    time_ns: NDArray[np.int64]
    cpu: NDArray[np.int64]
    mm: NDArray[np.int64]
    changed: NDArray[np.bool_]
    flushed: int | None
    reasons: dict[str, int]
    threads: int
    spaces: int
    seconds: float
    unread: int


@dataclass
class _Columns:
    time_ns: array[int] = field(default_factory=lambda: array("q"))
    cpu: array[int] = field(default_factory=lambda: array("q"))
    mm: array[int] = field(default_factory=lambda: array("q"))
    changed: array[int] = field(default_factory=lambda: array("b"))

    def add(self, time_ns: int, cpu: int, mm: int, *, changed: bool = False) -> None:
        """Append a row; raises RecordingError where that makes too many."""
        if len(self.mm) >= MOST_EVENTS:
            raise RecordingError(
                f"the trace has more than {MOST_EVENTS:,} switches: give a shorter part of it"
            )
        self.time_ns.append(time_ns)
        self.cpu.append(cpu)
        self.mm.append(mm)
        self.changed.append(changed)


class _Follower:
    """Follows which address space each CPU gets."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tgid: dict[int, int] = {}
        self._mm: dict[int, int] = {}
        self._spaces = 0
        self._next: dict[int, int | None] = {}
        self.by_event, self.by_thread = _Columns(), _Columns()
        self.flushed = 0
        self.seen_on_switch = False
        self.reasons: dict[str, int] = defaultdict(int)
        self.threads = 0
        self.unread = 0
        self.first_ns: int | None = None
        self.last_ns = 0

    def feed(self, line: bytes) -> None:
        """Follow a line; other events are ignored."""
        if b"sched_switch" not in line and b"tlb_flush" not in line:
            return
        match = self._layout.line.match(line)
        # Later no board's clock is: its ns fit into 64 bits.
        if match is None or len(match[5]) > _SECONDS:
            self.unread += 1
            return
        _, pid, cpu, _, seconds, fraction, event, text = match.groups()
        at = int(cpu), int(seconds) * 10**9 + int(fraction.ljust(9, b"0"))
        self.first_ns = at[1] if self.first_ns is None else self.first_ns
        self.last_ns = max(self.last_ns, at[1])
        if (tgid := _TGID.search(line[:80])) is not None and tgid[1] == pid:
            self._tgid[int(pid)] = int(tgid[2])
        if event == b"sched_switch":
            self._switch(at, text)
        elif event == b"tlb_flush":
            self._flush(at, int(pid), text)

    def _switch(self, at: tuple[int, int], text: bytes) -> None:
        switch = switch_of(text)
        if switch is None:
            self.unread += 1
            return
        name, pid = switch[4], switch[5]
        self.threads += 1
        self._next[at[0]] = pid
        if pid and not _OF_KERNEL.match(name.strip()):
            self.by_thread.add(at[1], at[0], self._space(pid))

    def _flush(self, at: tuple[int, int], pid: int, text: bytes) -> None:
        flush = _FLUSH.search(text)
        if flush is None or int(flush[2]) >= len(FLUSH_REASONS):
            self.unread += 1
            return
        cpu, time_ns = at
        reason, pages = int(flush[2]), int(flush[1])
        if reason != _ON_SWITCH:
            self.reasons[FLUSH_REASONS[reason]] += 1
            if reason in _UNMAPPED:
                self.by_event.add(time_ns, cpu, self._space(pid), changed=True)
            return
        self.seen_on_switch = True
        following = self._next.get(cpu)
        # A switch flushes in the thread that leaves. No thread came, or the one that came flushes
        # itself, after a kernel thread that had borrowed its address space: it has a new one.
        if following is None or following == pid:
            following = pid
            self._renew(pid)
        self._next[cpu] = None
        self.by_event.add(time_ns, cpu, self._space(following))
        if pages:
            self.flushed += 1
            self.reasons[FLUSH_REASONS[reason]] += 1

    def _space(self, pid: int) -> int:
        """Return the number of the address space of a thread."""
        process = self._tgid.get(pid, pid)
        if process not in self._mm:
            self._renew(pid)
        return self._mm[process]

    def _renew(self, pid: int) -> None:
        self._mm[self._tgid.get(pid, pid)] = self._spaces
        self._spaces += 1

    def result(self) -> SpaceTrace:
        """Return what was followed; raises RecordingError where nothing was."""
        columns = self.by_event if self.seen_on_switch else self.by_thread
        if not columns.mm:
            raise RecordingError(
                "the trace has no sched_switch: record the events sched:sched_switch and "
                "tlb:tlb_flush"
            )
        mm = np.array(columns.mm, np.int64)
        return SpaceTrace(
            np.array(columns.time_ns, np.int64),
            np.array(columns.cpu, np.int64),
            mm,
            np.array(columns.changed, bool),
            self.flushed if self.seen_on_switch else None,
            dict(self.reasons),
            self.threads,
            len(np.unique(mm)),
            (self.last_ns - (self.first_ns or 0)) / 1e9,
            self.unread,
        )


def read_address_spaces(stream: BinaryIO, name: str) -> SpaceTrace:
    """Read a trace to its end, in bounded memory; raises RecordingError for what is none.

    Threads whose process is shown only later are of their own until then.
    """
    source = iter(Lines(stream, name))
    head = list(islice(source, _HEAD_LINES))
    layout = layout_of([line for line in head if line[:1] != b"#"])
    if layout is None:
        raise RecordingError(
            f"{name} is not a known trace: give the text of `trace-cmd report -t`, of "
            "/sys/kernel/tracing/trace, or of `perf script --ns`"
        )
    follower = _Follower(layout)
    for line in chain(head, source):
        follower.feed(line)
    try:
        return follower.result()
    except RecordingError as error:
        raise RecordingError(f"{name}: {error}") from None
