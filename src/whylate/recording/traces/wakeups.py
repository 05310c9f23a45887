"""Finds the activations of watched threads: from their waking to the switch to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whylate.recording.activation import Activation, Waker, Woken, legs, what_woke
from whylate.recording.events import Kind, Reason
from whylate.recording.traces.cpu import Cpu
from whylate.recording.traces.cutout import CutOut, cut_out
from whylate.recording.traces.fields import MIGRATE, event_of, switch_of, text, waking_of
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.watch import Watch

#: Woken threads that did not run yet.
MOST_PENDING = 1 << 14
#: Moves of a woken thread that are followed.
MOST_MOVES = 16

#: Called with each activation, and with what cuts out its window.
AddActivation = Callable[[Activation, Callable[[Reason, int], CutOut]], None]


@dataclass
class _Pending:
    """A thread that was woken and did not run yet."""

    prio: int
    waker: int
    target: int
    waking_ns: int
    woken: Woken
    moves: list[tuple[int, int]] = field(default_factory=list)


class Wakeups:
    """Takes wakings, moves and switches; passes on each activation of a watched thread.

    cpus: by number, kept by whoever follows the trace.
    """

    def __init__(
        self, watch: Watch, add_activation: AddActivation, seen: Seen, cpus: Mapping[int, Cpu]
    ) -> None:
        self._watch = watch
        self._add_activation = add_activation
        self._seen = seen
        self._cpus = cpus
        self._pending: dict[int, _Pending] = {}
        #: Watched threads that have a CPU, and which.
        self._running: dict[int, int] = {}
        #: Threads whose wakeups a tracer measures itself.
        self.measured: set[int] = set()

    def waking(self, cpu: Cpu, time_ns: int, rest: bytes) -> bool:
        """Add a waking; return whether it was understood."""
        fields = waking_of(rest)
        if fields is None:
            return False
        name, pid, prio, target = fields
        if not self._watch.has(pid, name) or pid in self.measured:
            return True
        if pid in self._running:
            # It had not gone to sleep yet: it goes on, and nothing was switched.
            self._seen.awake += 1
            return True
        within = [event for record in cpu.open if (event := event_of(record, cpu.cpu)) is not None]
        raised = next((r[3] for r in reversed(cpu.open) if r[1] is Kind.SOFTIRQ_ENTRY), 0)
        by_thread = self._seen.interrupts and cpu.thread != 0
        woken = what_woke(within, time_ns, raised_ns=raised or None, by_thread=by_thread)
        if len(self._pending) >= MOST_PENDING:
            self._pending.pop(next(iter(self._pending)))
            self._seen.unfinished += 1
        self._pending[pid] = _Pending(prio, cpu.cpu, target, time_ns, woken)
        return True

    def moves(self, time_ns: int, rest: bytes) -> None:
        """Move a woken thread to another CPU."""
        match = MIGRATE.search(rest)
        pending = self._pending.get(int(match[1])) if match is not None else None
        if match is not None and pending is not None and len(pending.moves) < MOST_MOVES:
            pending.moves.append((time_ns, int(match[2])))

    def switch(self, cpu: Cpu, time_ns: int, rest: bytes) -> bool:
        """Add a switch of threads; return whether it was understood."""
        fields = switch_of(rest)
        if fields is None:
            return False
        _, prev_pid, _, _, name, pid, _ = fields
        cpu.switches(prev_pid, pid)
        self._seen.idled |= pid == 0
        self._running.pop(prev_pid, None)
        if self._pending.pop(prev_pid, None) is not None:
            # Some kernels do not trace switches from the idle thread.
            if not self._seen.unswitched:
                self._seen.unswitched_cpu = cpu.cpu
            self._seen.unswitched += 1
        if not self._watch.has(pid, name):
            return True
        if pid and len(self._running) < MOST_PENDING:
            self._running[pid] = cpu.cpu
        pending = self._pending.pop(pid, None)
        if pending is not None:
            self._ran(cpu, time_ns, pid, text(name), pending)
        return True

    def _ran(self, cpu: Cpu, time_ns: int, pid: int, name: str, pending: _Pending) -> None:
        if time_ns < pending.waking_ns:
            self._seen.unfinished += 1
            return
        woken = pending.woken
        self._seen.wakers[woken.by] += 1
        if woken.by is Waker.TIMER and woken.due_ns == woken.interrupt_ns:
            self._seen.undated += 1
        way = legs(woken, pending.waker, pending.waking_ns, pending.target, pending.moves,
                   cpu.cpu, time_ns)  # fmt: skip
        # Its stack may follow: it is passed on with the next event of the CPU.
        cpu.awaited.append(
            Activation(pid, name, pending.prio, woken, pending.waking_ns, time_ns, time_ns, way)
        )

    def tell(self, cpu: Cpu) -> None:
        """Tell of the activations on a CPU whose stacks can no longer come."""
        for activation in cpu.awaited:
            self._tell(activation)
        cpu.awaited.clear()

    def measured_by_tracer(self, *activations: Activation) -> None:
        """Take activations that a tracer measured by itself."""
        for activation in activations:
            if self._watch.tracers or self._watch.has(activation.pid, activation.name.encode()):
                self._seen.traced += 1
                self._tell(activation)

    def _tell(self, activation: Activation) -> None:
        switches = self._seen.switches

        def cut(reason: Reason, number: int) -> CutOut:
            return cut_out(activation, self._cpus, number, reason, switches=switches)

        self._add_activation(activation, cut)

    def lose(self, cpu: Cpu) -> None:
        """Take it that events of a CPU are missing: what is not over may have been over there."""
        self.tell(cpu)
        self._seen.unfinished += len(self._pending)
        self._pending.clear()
        self._running = {pid: on for pid, on in self._running.items() if on != cpu.cpu}

    def finish(self) -> None:
        """Take the end of the trace."""
        self._seen.unfinished += len(self._pending)
