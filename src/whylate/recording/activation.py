"""When an activation of any thread was due, and what woke it.

A thread that was not written for measuring has no known deadlines: an activation begins with what
woke it.

| woken by         | due                                                                        |
|------------------|----------------------------------------------------------------------------|
| a timer          | when the high-resolution timer was to expire; where that is not known, as  |
|                  | for another interrupt                                                      |
| an interrupt     | when the outermost interrupt in which it was woken began                   |
| a softirq        | when that softirq was raised; else when it began              |
| a thread         | when it was woken                                                          |
| not known        | when it was woken: no thread did it, and the interrupt was not recorded    |

It ends when a CPU is given to the thread: when its own code runs cannot be observed from outside.
A thread that was preempted and comes back was not woken: that is no activation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from whylate.recording.events import Event, Kind

#: Priorities of threads without real-time priority, as the kernel counts: from here on.
FAIR = 100
#: Of what a context is opened by, and which kind it is.
_INTERRUPTS = frozenset({Kind.IRQ_ENTRY, Kind.VECTOR_ENTRY})


class Waker(StrEnum):
    """What wakes a thread."""

    TIMER = "timer"
    INTERRUPT = "interrupt"
    SOFTIRQ = "softirq"
    THREAD = "thread"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Woken:
    """What woke a thread. interrupt_ns: when the outermost interrupt around it began, if any."""

    by: Waker
    due_ns: int
    name: str = ""
    interrupt_ns: int | None = None


def what_woke(
    within: Sequence[Event], waking_ns: int, *, raised_ns: int | None = None, by_thread: bool = True
) -> Woken:
    """Return what woke a thread at waking_ns, and when its activation was due.

    within: the entries (of interrupts, softirqs and timers) that had begun on the waking CPU and
    not ended, outermost first. raised_ns: when the innermost softirq was raised, where that was
    seen. by_thread: the waking CPU's thread may have done it, where nothing else did: it is not the
    idle one, and interrupts would have been seen.
    """
    interrupts = [event for event in within if event.kind in _INTERRUPTS]
    began = interrupts[0].time_ns if interrupts else None
    inner = within[-1] if within else None
    if inner is not None and inner.kind is Kind.TIMER_ENTRY and inner.duration_ns > 0:
        due = min(inner.time_ns - inner.duration_ns, waking_ns)
        return Woken(Waker.TIMER, due, inner.name, began)
    if interrupts:
        by = Waker.TIMER if inner and inner.kind is Kind.TIMER_ENTRY else Waker.INTERRUPT
        return Woken(by, interrupts[0].time_ns, interrupts[-1].name, began)
    softirq = next((entry for entry in reversed(within) if entry.kind is Kind.SOFTIRQ_ENTRY), None)
    if softirq is not None:
        due = softirq.time_ns if raised_ns is None else min(raised_ns, softirq.time_ns)
        return Woken(Waker.SOFTIRQ, due, softirq.name)
    if inner is not None:
        # A timer's function, in an interrupt that was not recorded.
        return Woken(Waker.TIMER, inner.time_ns, inner.name)
    return Woken(Waker.THREAD if by_thread else Waker.UNKNOWN, waking_ns)


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of an activation's way: from start_ns to end_ns it was up to this CPU."""

    cpu: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Activation:
    """One wakeup of a thread, from due to the CPU being given to it.

    legs: adjoining, from due to run: the CPU that woke it up to the waking, then those that it
    was to run on. interrupted: the thread that had the CPU when the interrupt came, where nothing
    but that is known of who ran; pid and name.
    """

    pid: int
    name: str
    prio: int
    woken: Woken
    waking_ns: int | None
    switched_ns: int | None
    run_ns: int
    legs: tuple[Leg, ...]
    interrupted: tuple[int, str] | None = None

    @property
    def cpu(self) -> int:
        """The CPU that it ran on."""
        return self.legs[-1].cpu

    @property
    def due_ns(self) -> int:
        """When it was due."""
        return self.woken.due_ns

    @property
    def latency_ns(self) -> int:
        """From due to run."""
        return self.run_ns - self.woken.due_ns


def legs(
    woken: Woken, waker: int, waking_ns: int, target: int, moves: Sequence[tuple[int, int]],
    cpu: int, run_ns: int,
) -> tuple[Leg, ...]:  # fmt: skip
    """Return an activation's way: woken on `waker` for `target`, moved, run on `cpu`.

    moves: times and the CPUs that it was moved to meanwhile, in order. The last leg
    is always on `cpu`: a move elsewhere means that a later one was not recorded.
    """
    edges = [(woken.due_ns, waker), (waking_ns, target), *moves]
    edges[-1] = (edges[-1][0], cpu)
    merged: list[Leg] = []
    for (start, on), (end, _) in zip(edges, [*edges[1:], (run_ns, cpu)], strict=True):
        if merged and merged[-1].cpu == on:
            merged[-1] = Leg(on, merged[-1].start_ns, end)
        elif end > start or end == run_ns:
            merged.append(Leg(on, start, end))
    return tuple(merged)
