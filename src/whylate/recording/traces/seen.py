"""What a trace had, counted while it was read: what it lacks follows from that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from whylate.recording.activation import Waker


@dataclass
class Seen:
    """Counts of a trace. Lines are counted from 1; times are of the trace's own clock."""

    layout: str = ""
    lines: int = 0
    #: Times that were events, of which tracepoint.
    events: Counter[str] = field(default_factory=Counter)
    cpus: set[int] = field(default_factory=set)
    #: By the header: CPUs, events in the buffer and ever written.
    header_cpus: int | None = None
    buffered: int | None = None
    written: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    rounded: bool = False
    torn: bool = False
    #: Lines that were not understood, and the first of them.
    odd: int = 0
    odd_line: int = 0
    #: Events of CPUs that cannot be there, and the first such CPU.
    impossible: int = 0
    impossible_cpu: int = -1
    #: Steps back of a CPU's clock, larger than merging makes them: how many, and the first of them.
    backwards: int = 0
    backwards_ns: int = 0
    backwards_line: int = 0
    backwards_cpu: int = -1
    #: Places where events were lost, and how many, as far as the trace has that.
    losses: int = 0
    lost: int = 0
    #: Timers that expired outside of any interrupt: theirs was not recorded.
    bare_timers: int = 0
    #: Activations by what woke them, and those of timers that were not seen to be started.
    wakers: Counter[Waker] = field(default_factory=Counter)
    undated: int = 0
    #: Wakeups of watched threads that were no activations, or of which a part was lost.
    awake: int = 0
    unfinished: int = 0
    #: Those that ran without a switch to them, and the CPU of the first.
    unswitched: int = 0
    unswitched_cpu: int = -1
    #: Activations that a tracer itself measured (timerlat), or noise that it did (osnoise).
    traced: int = 0
    #: Lines of latency tracers that are in memory.
    kept: int = 0
    without_waking: bool = False
    #: Whether there are switches of threads.
    switches: bool = False
    #: Whether there are interrupts so far, and whether any CPU was idle.
    interrupts: bool = False
    idled: bool = False

    @property
    def span_ns(self) -> int:
        """From the first event to the last."""
        return (self.last_ns or 0) - (self.first_ns or 0)

    def goes_back(self, cpu: int, by_ns: int) -> None:
        """Take it that a CPU's clock steps back at the line that was counted last."""
        if not self.backwards:
            self.backwards_line, self.backwards_cpu, self.backwards_ns = self.lines, cpu, by_ns
        self.backwards += 1

    def any_of(self, *names: str) -> bool:
        """Return whether any of these tracepoints had an event."""
        return any(self.events[name] for name in names)
