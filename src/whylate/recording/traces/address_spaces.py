"""Switches between address spaces from a trace of sched_switch and tlb_flush.

On x86 tlb_flush follows each switch between address spaces, on its CPU: with no pages where the
CPU's identifier for the address space is still valid, else with all of them. So it shows which
switches of threads are switches of address spaces, also where a thread executes another program and
gets a new one. A thread that ends goes over to the kernel's own address space (init_mm), and so
does a CPU in lazy mode that is interrupted for a change. A thread that patches the kernel's code
goes over to a temporary one and back. A kernel without that event (arm64) has only switches of
threads: then each process is an address space, and the kernel's threads, which borrow the last, are
known by their names.

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
#: The address space that was changed is that of the CPU ("local MM shootdown").
_OF_LOADED = 3
#: The kernel's own address space, and that in which its code is patched.
_KERNEL, _TEMPORARY = 0, 1
#: States of a thread that has ended.
_ENDED = (b"X", b"Z")
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
    a thread on that CPU. seen: bool, the row is no switch, but a thread of the address space was on
    that CPU though the trace has no switch to it: some threads leave no events, and the trace may
    begin late. flushed: how many switches flushed; None: the kernel does not report it.
    reasons: flushes by reason. threads: switches of threads. spaces: address spaces. unread: lines
    of these two events that were not understood.
    """

    time_ns: NDArray[np.int64]
    cpu: NDArray[np.int64]
    mm: NDArray[np.int64]
    changed: NDArray[np.bool_]
    seen: NDArray[np.bool_]
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
    seen: array[int] = field(default_factory=lambda: array("b"))

    def add(
        self, at: tuple[int, int], mm: int, *, changed: bool = False, seen: bool = False
    ) -> None:
        """Append a row; at: CPU and time in ns; raises RecordingError where that is too many."""
        if len(self.mm) >= MOST_EVENTS:
            raise RecordingError(
                f"the trace has more than {MOST_EVENTS:,} switches: give a shorter part of it"
            )
        self.cpu.append(at[0])
        self.time_ns.append(at[1])
        self.mm.append(mm)
        self.changed.append(changed)
        self.seen.append(seen)


class _Spaces:
    """Numbers of address spaces: one for each process, one for the kernel, and a temporary one.

    A thread whose process is not known yet has a number of its own, which becomes that of the
    process later.
    """

    def __init__(self) -> None:
        self._tgid: dict[int, int] = {}
        self._mm: dict[int, int] = {}
        self._same: dict[int, int] = {}
        self._known: set[int] = set()
        self._count = _TEMPORARY + 1

    def show_process(self, pid: int, tgid: int) -> None:
        """Learn the process of a thread: the number that the thread had is that of the process."""
        own = self._mm.pop(pid, None) if pid not in self._tgid and pid != tgid else None
        self._tgid[pid] = tgid
        if own is not None:
            self._same[own] = self._mm.setdefault(tgid, own)
            if pid in self._known:
                self._known.add(tgid)

    def number(self, pid: int) -> int:
        """Return the number of the address space of a thread."""
        process = self._tgid.get(pid, pid)
        if process not in self._mm:
            self.renew(pid)
        return self._mm[process]

    def show(self, pid: int) -> int:
        """Return the number of a thread that has an address space, as an event has shown."""
        self._known.add(self._tgid.get(pid, pid))
        return self.number(pid)

    def shown(self, pid: int) -> int | None:
        """Return the number of a thread; None where no event has shown that it has one."""
        process = self._tgid.get(pid, pid)
        return self._mm.get(process) if process in self._known else None

    def renew(self, pid: int) -> None:
        """Give a process a new address space."""
        self._mm[self._tgid.get(pid, pid)] = self._new()

    def restore(self, pid: int, number: int | None) -> None:
        """Give a process the address space back that it had; None: none was known."""
        process = self._tgid.get(pid, pid)
        if number is None:
            self._mm.pop(process, None)
        else:
            self._mm[process] = number

    def root(self, number: int) -> int:
        """Return the number that stands for the same address space by now."""
        return self._same.get(number, number)

    def resolve(self, mm: array[int]) -> NDArray[np.int64]:
        """Return a number for each address space, in the order in which they came."""
        table = np.arange(self._count, dtype=np.int64)
        for own, number in self._same.items():
            table[own] = number
        _, first, inverse = np.unique(
            table[np.array(mm, np.int64)], return_index=True, return_inverse=True
        )
        return np.argsort(np.argsort(first))[inverse]

    def _new(self) -> int:
        self._count += 1
        return self._count - 1


class _Follower:
    """Follows which address space each CPU gets."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._spaces = _Spaces()
        self._next: dict[int, int | None] = {}
        #: The address space that each CPU has, as far as the trace shows it.
        self._loaded: dict[int, int] = {}
        #: The last row of a CPU, if its thread may have executed another program, have ended or
        #: patch the kernel; and the address space that its process had.
        self._own: dict[int, tuple[int, int | None]] = {}
        #: Threads that gave their address space up.
        self._ended: set[int] = set()
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
        name, pid, cpu, _, seconds, fraction, event, text = match.groups()
        at = int(cpu), int(seconds) * 10**9 + int(fraction.ljust(9, b"0"))
        self.first_ns = at[1] if self.first_ns is None else self.first_ns
        self.last_ns = max(self.last_ns, at[1])
        if (tgid := _TGID.search(line[:80])) is not None and tgid[1] == pid:
            self._spaces.show_process(int(pid), int(tgid[2]))
        if event == b"sched_switch":
            self._switch(at, text)
        elif event == b"tlb_flush":
            self._flush(at, int(pid), text, is_kernel=_is_kernel(int(pid), name))

    def _switch(self, at: tuple[int, int], text: bytes) -> None:
        switch = switch_of(text)
        if switch is None:
            self.unread += 1
            return
        prev_name, prev_pid, _, state, name, pid, _ = switch
        self.threads += 1
        if state[:1] in _ENDED:
            self._end(at[0], prev_pid)
        elif not _is_kernel(prev_pid, prev_name) and prev_pid not in self._ended:
            self._see(at, self._spaces.shown(prev_pid))
        self._own.pop(at[0], None)
        self._next[at[0]] = pid
        if not _is_kernel(pid, name):
            self.by_thread.add(at, self._spaces.number(pid))

    def _flush(self, at: tuple[int, int], pid: int, text: bytes, *, is_kernel: bool) -> None:
        flush = _FLUSH.search(text)
        if flush is None or int(flush[2]) >= len(FLUSH_REASONS):
            self.unread += 1
            return
        cpu = at[0]
        reason, pages = int(flush[2]), int(flush[1])
        if reason != _ON_SWITCH:
            self.reasons[FLUSH_REASONS[reason]] += 1
            if reason in _UNMAPPED and not is_kernel:
                self._change(at, pid, is_loaded=reason == _OF_LOADED)
            return
        self.seen_on_switch = True
        following = self._next.get(cpu)
        self._next[cpu] = None
        # A switch flushes in the thread that leaves. No thread came, or the one that came flushes
        # itself, after a kernel thread that had borrowed its address space: it changes its own.
        if following in (None, pid):
            mm = self._go_over(cpu, pid, pages, is_kernel=is_kernel)
        else:
            self._ended.discard(following)
            mm = self._spaces.show(following)
        is_back = self._loaded.get(cpu) == _TEMPORARY
        self._loaded[cpu] = mm
        self.by_event.add(at, mm)
        if is_back:
            # The kernel takes what was mapped there away, which no event shows.
            self.by_event.add(at, _TEMPORARY, changed=True)
        if pages:
            self.flushed += 1
            self.reasons[FLUSH_REASONS[reason]] += 1

    def _go_over(self, cpu: int, pid: int, pages: int, *, is_kernel: bool) -> int:
        """Return the address space to which a thread goes over without a switch of threads.

        A program goes to a new one, whose id cannot be valid; to the kernel's when it ends; or to
        the temporary one and back. A thread of the kernel goes to that from the kernel's alone.
        """
        own = self._own.pop(cpu, None)
        if own is not None:
            self._loaded[cpu] = self.by_event.mm[own[0]] = _TEMPORARY
            self._spaces.restore(pid, own[1])
            return self._spaces.show(pid)
        if is_kernel:
            return _TEMPORARY if self._loaded.get(cpu) == _KERNEL else _KERNEL
        if not pages:
            self._ended.add(pid)
            return _KERNEL
        self._own[cpu] = len(self.by_event.mm), self._spaces.shown(pid)
        self._spaces.renew(pid)
        return self._spaces.show(pid)

    def _change(self, at: tuple[int, int], pid: int, *, is_loaded: bool) -> None:
        """Add a change by a thread; is_loaded: of what its CPU has."""
        mm = self._spaces.number(pid)
        if is_loaded and pid not in self._ended:
            self._own.pop(at[0], None)
            self._see(at, self._spaces.show(pid))
        self.by_event.add(at, mm, changed=True)

    def _see(self, at: tuple[int, int], mm: int | None) -> None:
        """Add a row if a CPU has another address space than the last switch gave it."""
        loaded = self._loaded.get(at[0])
        if mm is not None and (loaded is None or self._spaces.root(loaded) != mm):
            self._loaded[at[0]] = mm
            self.by_event.add(at, mm, seen=True)

    def _end(self, cpu: int, pid: int) -> None:
        """End a thread: what it flushed last was for the kernel's address space, no program."""
        own = self._own.pop(cpu, None)
        if own is not None:
            self._loaded[cpu] = self.by_event.mm[own[0]] = _KERNEL
            self._spaces.restore(pid, own[1])

    def result(self) -> SpaceTrace:
        """Return what was followed; raises RecordingError where nothing was."""
        columns = self.by_event if self.seen_on_switch else self.by_thread
        if not columns.mm:
            raise RecordingError(
                "the trace has no sched_switch: record the events sched:sched_switch and "
                "tlb:tlb_flush"
            )
        mm = self._spaces.resolve(columns.mm)
        return SpaceTrace(
            np.array(columns.time_ns, np.int64),
            np.array(columns.cpu, np.int64),
            mm,
            np.array(columns.changed, bool),
            np.array(columns.seen, bool),
            self.flushed if self.seen_on_switch else None,
            dict(self.reasons),
            self.threads,
            len(np.unique(mm)),
            (self.last_ns - (self.first_ns or 0)) / 1e9,
            self.unread,
        )


def _is_kernel(pid: int, name: bytes) -> bool:
    """Return whether a thread is the kernel's, as its name shows."""
    return not pid or _OF_KERNEL.match(name.strip()) is not None


def read_address_spaces(stream: BinaryIO, name: str) -> SpaceTrace:
    """Read a trace to its end, in bounded memory; raises RecordingError for what is none.

    Threads whose process is never shown are processes of their own.
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
