"""Follows a trace line by line: keeps the last events of each CPU, and finds activations."""

from __future__ import annotations

import re
from collections import deque

from whylate.recording.events import Kind
from whylate.recording.traces.cpu import MERGED_NS, Cpu
from whylate.recording.traces.fields import TIMER_EXPIRE, TIMER_START, TRACEPOINTS, text
from whylate.recording.traces.layouts import Layout
from whylate.recording.traces.noise import Noise, Timerlat
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.stacks import Stacks, is_frame
from whylate.recording.traces.timers import Timers
from whylate.recording.traces.wakeups import AddActivation, Wakeups
from whylate.recording.traces.watch import Watch

#: Records that are kept, of all CPUs together, and of each at least.
ROOM = 1 << 17
LEAST_ROOM = 256
#: Tracepoints that are counted by name; a trace has a few dozen.
MOST_NAMES = 512
#: Bytes of an event's fields that are kept; those that are looked at come first.
LONGEST_FIELDS = 512
#: CPUs of a machine.
MOST_CPUS = 4096
#: Softirqs that were raised and did not begin.
MOST_RAISED = 32
#: No time of a trace is larger: it would not fit a column of ours.
_MOST_SECONDS = 9_000_000_000

_LOSS = re.compile(rb"^ *CPU:(\d{1,5}) \[(?:LOST )?(\d{1,18})? ?EVENTS(?: DROPPED)?\]")
_PERF_LOSS = re.compile(rb"\[(\d{1,5})\].{1,64}PERF_RECORD_LOST\S{0,16} lost (\d{1,18})")
_CPUS = re.compile(rb"#P:(\d{1,5})|^cpus=(\d{1,5})|^# nrcpus online : (\d{1,5})")
_ENTRIES = re.compile(rb"^# entries-in-buffer/entries-written: (\d{1,18})/(\d{1,18})")
#: Lines that tools put above, below and between the events.
_CHATTER = (b"#", b"cpus=", b"version =", b"CPU ", b"[", b"==")
_INTERRUPTS = frozenset({Kind.IRQ_ENTRY, Kind.VECTOR_ENTRY})
_CLOSES = frozenset({Kind.IRQ_EXIT, Kind.VECTOR_EXIT, Kind.SOFTIRQ_EXIT, Kind.TIMER_EXIT})


class Follower:
    """Takes the lines of a trace in one layout; passes on activations of watched threads."""

    def __init__(
        self, layout: Layout, watch: Watch, add_activation: AddActivation, seen: Seen
    ) -> None:
        self._match = layout.line.match
        self._odd_match = layout.odd.match
        self._seen = seen
        self._cpus: dict[int, Cpu] = {}
        self._by_text: dict[bytes, Cpu] = {}
        self._counts: dict[bytes, int] = {}
        self._timers = Timers()
        self._wakeups = Wakeups(watch, add_activation, seen, self._cpus)
        self._stacks = Stacks()
        self._noise = Noise()
        self._timerlat = Timerlat()
        self._sec = b""
        self._base_ns = 0

    def feed(self, line: bytes) -> None:
        """Take a line."""
        self._seen.lines += 1
        match = self._match(line)
        if match is None:
            self._other(line)
            return
        _, pid, cpu_text, _, sec, fraction, name, rest = match.groups()
        rest = rest[:LONGEST_FIELDS]
        cpu = self._by_text.get(cpu_text) or self._cpu(cpu_text)
        if cpu is None:
            return
        time_ns = self._time(cpu, sec, fraction)
        if time_ns is None:
            return
        kind = TRACEPOINTS.get(name)
        if kind is None and name == b"kernel_stack":
            self._stacks.begins(cpu, cpu.last_ns, cpu.last_kind)
            return
        if self._stacks.reading:
            self._stacks.ends()
        if cpu.awaited:
            self._wakeups.tell(cpu)
        self._stacks.below = cpu
        cpu.goes_on(time_ns, kind)
        self._counts[name] = self._counts.get(name, 0) + 1
        if kind is None:
            self._not_kept(cpu, time_ns, name, match)
        elif kind is Kind.SWITCH or kind is Kind.WAKING:
            self._of_threads(cpu, time_ns, kind, rest)
        else:
            self._context(cpu, time_ns, kind, name, rest, pid)

    def finish(self) -> None:
        """Take the end of the trace."""
        self._stacks.ends()
        for cpu in self._cpus.values():
            self._wakeups.tell(cpu)
            self._wakeups.measured_by_tracer(*self._timerlat.rest(cpu.cpu))
        self._wakeups.finish()
        seen = self._seen
        seen.last_ns = max((cpu.last_ns for cpu in self._cpus.values()), default=0)
        for name, count in self._counts.items():
            seen.events[text(name)] += count

    def _of_threads(self, cpu: Cpu, time_ns: int, kind: Kind, rest: bytes) -> None:
        """Take a switch or a waking."""
        cpu.ring.append((time_ns, kind, rest, 0))
        if kind is Kind.SWITCH:
            self._seen.switches = True
            understood = self._wakeups.switch(cpu, time_ns, rest)
        else:
            understood = self._wakeups.waking(cpu, time_ns, rest)
        if not understood:
            self._odd()

    def _time(self, cpu: Cpu, sec: bytes, fraction: bytes) -> int | None:
        """Return a line's time, ns; a CPU's clock that steps back cuts what is kept of it."""
        if sec != self._sec:
            if int(sec) > _MOST_SECONDS:
                self._odd()
                return None
            self._sec, self._base_ns = sec, int(sec) * 1_000_000_000
        if len(fraction) == 6:
            time_ns = self._base_ns + int(fraction) * 1000
            self._seen.rounded = True
        else:
            time_ns = self._base_ns + int(fraction)
        if self._seen.first_ns is None:
            self._seen.first_ns = time_ns
        if time_ns >= cpu.last_ns:
            return time_ns
        if cpu.last_ns - time_ns <= MERGED_NS:
            return cpu.last_ns
        self._seen.goes_back(cpu.cpu, cpu.last_ns - time_ns)
        self._lose(cpu)
        return time_ns

    def _cpu(self, cpu_text: bytes) -> Cpu | None:
        number = int(cpu_text)
        cpu = self._cpus.get(number)
        if cpu is None:
            seen = self._seen
            if number >= MOST_CPUS or len(self._cpus) >= (seen.header_cpus or MOST_CPUS):
                if not seen.impossible:
                    seen.impossible_cpu = number
                seen.impossible += 1
                return None
            room = max(LEAST_ROOM, ROOM // (len(self._cpus) + 1))
            for other in self._cpus.values():
                other.ring = deque(other.ring, maxlen=room)
            cpu = self._cpus[number] = Cpu(number, room)
            seen.cpus.add(number)
        self._by_text[cpu_text] = cpu
        return cpu

    def _context(
        self, cpu: Cpu, time_ns: int, kind: Kind, name: bytes, rest: bytes, pid: bytes
    ) -> None:
        """Take what changes who has the CPU beside threads, and what is only kept."""
        extra = 0
        if kind is Kind.TIMER_ENTRY:
            extra = self._expires(cpu, time_ns, rest)
            cpu.begins((time_ns, kind, rest, extra))
        elif kind in _INTERRUPTS:
            self._seen.interrupts = True
            if kind is Kind.VECTOR_ENTRY and not name.startswith(b"ipi_"):
                rest = name.removesuffix(b"_entry").removesuffix(b"_apic")
            cpu.begins((time_ns, kind, rest, 0))
        elif kind is Kind.SOFTIRQ_ENTRY:
            extra = cpu.raised.pop(rest, 0)
            cpu.begins((time_ns, kind, rest, extra))
        elif kind in _CLOSES:
            cpu.ends(kind)
        elif kind is Kind.SOFTIRQ_RAISE:
            if len(cpu.raised) < MOST_RAISED:
                cpu.raised.setdefault(rest, time_ns)
        elif kind is Kind.MIGRATE:
            self._wakeups.moves(time_ns, rest)
        elif kind is Kind.FAULT:
            extra = int(pid)
        cpu.ring.append((time_ns, kind, rest, extra))

    def _expires(self, cpu: Cpu, time_ns: int, rest: bytes) -> int:
        """Return when an expiring timer was due on the trace's clock; 0 where it is not known."""
        if not cpu.open:
            self._seen.bare_timers += 1
        match = TIMER_EXPIRE.search(rest)
        if match is None:
            return 0
        now_ns = int(match[2])
        trace_now_ns = cpu.distance.trace_time(time_ns, now_ns)
        late_ns = self._timers.late(match[1], now_ns)
        return 0 if late_ns is None else max(1, trace_now_ns - late_ns)

    def _not_kept(self, cpu: Cpu, time_ns: int, name: bytes, match: re.Match[bytes]) -> None:
        """Handle an event that is not kept: the start of a timer, a late waking, noise."""
        rest = match[8]
        if len(self._counts) > MOST_NAMES:
            # So many names are no tracepoints.
            del self._counts[name]
        if name == b"hrtimer_start":
            start = TIMER_START.search(rest)
            if start is not None:
                self._timers.started(start[1], int(start[2]))
        elif name == b"sched_wakeup":
            # Where wakings are recorded they came before, and name the waker.
            if b"sched_waking" not in self._counts:
                self._seen.without_waking = True
                self._of_threads(cpu, time_ns, Kind.WAKING, rest)
        elif name.endswith(b"_noise"):
            self._noise.add_noise(cpu, time_ns, name, rest, self._known())
        elif name == b"sample_threshold":
            task, pid = text(match[1].strip()), int(match[2])
            sample = self._noise.sample(cpu, time_ns, rest, pid, task)
            if sample is not None:
                self._wakeups.measured_by_tracer(sample)

    def _known(self) -> frozenset[Kind]:
        """Return the kinds of events that the trace has itself: they are better than noise."""
        kinds = {
            Kind.VECTOR_ENTRY: (b"irq_handler_entry", b"local_timer_entry"),
            Kind.SOFTIRQ_ENTRY: (b"softirq_entry",),
            Kind.SWITCH: (b"sched_switch",),
            Kind.NMI: (b"nmi_handler",),
        }
        return frozenset(
            kind for kind, names in kinds.items() if any(name in self._counts for name in names)
        )

    def _lose(self, cpu: Cpu, count: int = 0) -> None:
        """Take it that events of a CPU are missing here."""
        self._seen.losses += 1
        self._seen.lost += count
        self._stacks.ends()
        self._wakeups.lose(cpu)
        cpu.lost()
        self._timers.forget()

    def _other(self, line: bytes) -> None:
        """Handle a line that is no event: a stack, a header, a loss, a line of a tracer."""
        if not line or line.isspace():
            return
        if is_frame(line):
            self._stacks.add_frame(line)
        elif (lost := _loss(line)) is not None:
            cpu = self._cpu(lost[0])
            if cpu is not None:
                self._lose(cpu, lost[1])
        elif not _is_header(line, self._seen):
            self._of_tracer(line)

    def _of_tracer(self, line: bytes) -> None:
        """Handle a line with a time that is no event: the first of a stack, or one of a tracer."""
        odd = self._odd_match(line)
        cpu = self._cpu(odd[3]) if odd is not None else None
        if odd is None:
            self._odd()
        if odd is None or cpu is None:
            return
        if b"<stack trace" in odd[8]:
            interrupt_ns = self._timerlat.interrupt_of(cpu.cpu)
            if interrupt_ns is not None:
                self._stacks.begins(cpu, interrupt_ns, Kind.TIMER_ENTRY)
            else:
                self._stacks.begins(cpu, cpu.last_ns, cpu.last_kind)
            return
        time_ns = self._time(cpu, odd[5], odd[6])
        if time_ns is None:
            return
        self._stacks.ends()
        cpu.goes_on(time_ns, None)
        pid = int(odd[2])
        activations = self._timerlat.add_line(cpu.cpu, time_ns, odd[8], pid, text(odd[1].strip()))
        if activations is None:
            self._seen.events["lines of another form"] += 1
            return
        self._seen.events["timer_latency"] += 1
        self._wakeups.measured = self._timerlat.pids
        self._wakeups.measured_by_tracer(*activations)

    def _odd(self) -> None:
        if not self._seen.odd:
            self._seen.odd_line = self._seen.lines
        self._seen.odd += 1


def _loss(line: bytes) -> tuple[bytes, int] | None:
    """Return the CPU of which events were lost, and how many; None: it is another line."""
    match = _LOSS.match(line) or _PERF_LOSS.search(line)
    return None if match is None else (match[1], int(match[2] or 0))


def _is_header(line: bytes, seen: Seen) -> bool:
    """Return whether a line is one that a tool adds; its facts of the trace are kept."""
    if not line.startswith(_CHATTER):
        return False
    if seen.header_cpus is None and (cpus := _CPUS.search(line)) is not None:
        seen.header_cpus = max(1, min(MOST_CPUS, int(next(filter(None, cpus.groups())))))
    if (entries := _ENTRIES.match(line)) is not None:
        seen.buffered, seen.written = int(entries[1]), int(entries[2])
    return True
