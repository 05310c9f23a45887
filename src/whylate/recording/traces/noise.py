"""The kernel's osnoise and timerlat tracers: what they measured, as activations and events.

Each interrupt, softirq, NMI and thread that delayed the thread is printed at its end, with its
duration less what interrupted it; its place in time is computed from that. The clock of
`start` is not that of the trace: only durations and the times of lines are used.

Source: kernel/trace/trace_osnoise.c and trace_output.c; Documentation/trace/osnoise-tracer.rst and
timerlat-tracer.rst.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from whylate.recording.activation import Activation, Leg, Waker, Woken
from whylate.recording.events import Event, Kind
from whylate.recording.traces.cpu import Cpu
from whylate.recording.traces.fields import text

#: The lowest priority, as the kernel counts.
LOWEST_PRIO = 140
#: Default priority of both tracers' threads (SCHED_FIFO 95), as the kernel counts.
TRACERS_PRIO = 4
#: What "woke" osnoise's thread, which never sleeps.
OSNOISE = "osnoise"
#: Intervals kept of each CPU; nesting is not deeper.
LATELY = 64
#: Longer than that nothing can have been measured.
LONGEST_NS = 60_000_000_000

_NOISE = re.compile(rb" *(?:(.{1,64}?):(\d{1,10}) )?start \S+ duration (\d{1,18}) ns")
_SAMPLE = re.compile(rb"start \S+ duration (\d{1,18}) ns")
_LATENCY = re.compile(rb"#(\d{1,18}) +context +(irq|thread|user-ret) +timer_latency +(\d{1,18}) ns")
_LEVELS = {
    b"irq_noise": (Kind.VECTOR_ENTRY, Kind.VECTOR_EXIT),
    b"softirq_noise": (Kind.SOFTIRQ_ENTRY, Kind.SOFTIRQ_EXIT),
}


class Noise:
    """What delayed the tracer's thread on each CPU."""

    def __init__(self) -> None:
        self._lately: dict[int, deque[tuple[int, int]]] = {}

    def add_noise(
        self, cpu: Cpu, time_ns: int, name: bytes, rest: bytes, known: frozenset[Kind]
    ) -> None:
        """Keep an event of noise as the events of its begin and its end.

        known: kinds of events that the trace has itself, which say it better.
        """
        match = _NOISE.match(rest)
        if match is None or int(match[3]) > LONGEST_NS:
            return
        begin = self._begin(cpu.cpu, time_ns, int(match[3]))
        what, number = text((match[1] or b"").strip()), int(match[2] or 0)
        if name == b"nmi_noise":
            if Kind.NMI not in known:
                self._keep(cpu, time_ns, Event(time_ns, cpu.cpu, Kind.NMI,
                                               duration_ns=time_ns - begin))  # fmt: skip
        elif name == b"thread_noise":
            if Kind.SWITCH not in known:
                self._keep(
                    cpu, time_ns,
                    Event(begin, cpu.cpu, Kind.SWITCH, id=number, name=what, prio=TRACERS_PRIO,
                          duration_ns=time_ns - begin),
                )  # fmt: skip
        elif name in _LEVELS:
            entry, leave = _LEVELS[name]
            if entry not in known:
                self._keep(
                    cpu, time_ns,
                    Event(begin, cpu.cpu, entry, id=number, name=what),
                    Event(time_ns, cpu.cpu, leave, id=number, name=what),
                )  # fmt: skip

    def sample(self, cpu: Cpu, time_ns: int, rest: bytes, pid: int, name: str) -> Activation | None:
        """Return a time that osnoise's thread was kept from running for, as an activation."""
        match = _SAMPLE.match(rest)
        if match is None or not 0 < int(match[1]) <= min(LONGEST_NS, time_ns):
            return None
        due = time_ns - int(match[1])
        return Activation(
            pid, name, TRACERS_PRIO, Woken(Waker.UNKNOWN, due, OSNOISE), due, None, time_ns,
            (Leg(cpu.cpu, due, time_ns),), (pid, name),
        )  # fmt: skip

    def _begin(self, cpu: int, end_ns: int, net_ns: int) -> int:
        """Return when something began that took so long net of what interrupted it."""
        lately = self._lately.setdefault(cpu, deque(maxlen=LATELY))
        begin = end_ns - net_ns
        for start, end in reversed(lately):
            if end <= begin:
                break
            begin -= end - start
        while lately and lately[-1][0] >= begin:
            lately.pop()
        lately.append((begin, end_ns))
        return max(begin, 0)

    @staticmethod
    def _keep(cpu: Cpu, time_ns: int, *events: Event) -> None:
        for event in events:
            cpu.ring.append((time_ns, event.kind, event, 0))


@dataclass
class _Irq:
    """What timerlat printed in its timer's interrupt."""

    count: int
    time_ns: int
    latency_ns: int
    interrupted: tuple[int, str]


class Timerlat:
    """The activations that timerlat measured: each line of context `thread` is one."""

    def __init__(self) -> None:
        self._irqs: dict[int, _Irq] = {}
        self._held: dict[int, Activation] = {}
        self.pids: set[int] = set()

    def add_line(
        self, cpu: int, time_ns: int, rest: bytes, pid: int, name: str
    ) -> tuple[Activation, ...] | None:
        """Add a line that is no event; None: it is not timerlat's.

        Returns the activations that are complete, with stacks.
        """
        match = _LATENCY.match(rest)
        if match is None:
            return None
        count, latency = int(match[1]), int(match[3])
        if latency > min(LONGEST_NS, time_ns):
            return ()
        if match[2] == b"irq":
            self._irqs[cpu] = _Irq(count, time_ns, latency, (pid, name))
            return self.rest(cpu)
        if match[2] != b"thread":
            return ()
        before = self.rest(cpu)
        irq = self._irqs.pop(cpu, None)
        due = time_ns - latency
        interrupt = interrupted = None
        waking = due
        if irq is not None and irq.count == count:
            interrupt = min(due + irq.latency_ns, time_ns)
            waking = min(max(interrupt, irq.time_ns), time_ns)
            interrupted = irq.interrupted
        if len(self.pids) < LATELY * LATELY:
            self.pids.add(pid)
        self._held[cpu] = Activation(
            pid, name, TRACERS_PRIO, Woken(Waker.TIMER, due, "timerlat", interrupt),
            waking if interrupt is not None else None, None, time_ns,
            (Leg(cpu, due, time_ns),), interrupted,
        )  # fmt: skip
        return before

    def rest(self, cpu: int) -> tuple[Activation, ...]:
        """Return what is held back of a CPU, for its stack could have followed."""
        held = self._held.pop(cpu, None)
        return () if held is None else (held,)

    def interrupt_of(self, cpu: int) -> int | None:
        """Return when the interrupt of the activation began that is held back."""
        held = self._held.get(cpu)
        return None if held is None else held.woken.interrupt_ns


def switched_back(events: list[Event], activation: Activation) -> list[Event]:
    """Return events of noise with the tracer's thread between those that got in its way.

    The interrupted thread went on without a decision of the scheduler: there is no switch to it,
    and its time counts as that of a lower-priority thread. The scheduler chose any other thread
    while the tracer's thread waited.
    """
    interrupted = activation.interrupted[0] if activation.interrupted is not None else -1
    merged = []
    for event in events:
        if event.kind is not Kind.SWITCH or not event.duration_ns:
            merged.append(event)
            continue
        if event.id == interrupted:
            interrupted = -1
        else:
            merged.append(event)
        end = event.time_ns + event.duration_ns
        merged.append(
            Event(
                end,
                event.cpu,
                Kind.SWITCH,
                id=activation.pid,
                name=activation.name,
                prio=activation.prio,
                prev_id=event.id,
            )
        )
    return sorted(merged, key=lambda event: event.time_ns)
