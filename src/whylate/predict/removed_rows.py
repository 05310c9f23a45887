"""The activations of a run without a cause: each with the least and the most that it would be."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylate.causes.counterfactual import Bounds, Removal, bound_without, clip_breakdown
from whylate.causes.population import RESOLUTION_NS, Breakdown
from whylate.recording.samples import CpuSamples
from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.unseen import lower_largest, most_affected


@dataclass(frozen=True)
class Windows:
    """The recorded activations of a run: late, and a random sample of the others."""

    late: Sequence[Breakdown]
    control: Sequence[Breakdown]


@dataclass(frozen=True)
class RemovedRows:
    """The same rows as recorded, at the least and at the most that they would be.

    Activations while the recorder was detached are left out of all three. affected: recorded
    activations in which the causes took time. unseen: rows without a window; most_unseen: the most
    of them that the causes can have delayed.
    """

    recorded: list[CpuSamples]
    low: list[CpuSamples]
    high: list[CpuSamples]
    affected: int
    unseen: int
    most_unseen: int


def remove_rows(
    samples: Sequence[CpuSamples],
    windows: Windows,
    removal: Removal,
    detached: Sequence[tuple[int, int]] = (),
    seed: int = 0,
) -> RemovedRows:
    """Return the rows of a run without the causes of a removal, or with these faster.

    detached: begin and end of each time in which nothing was recorded by design, ns. Rows without a
    window keep their latency at the most. At the least as many of them as the control activations
    allow, the largest, are as usual. Where a cause made a late activation, it is at the most what
    remains, or a control activation drawn at random if that is later: another cause may have come
    at that time.
    """
    usual_ns = _usual_ns(windows.control, removal)
    draws = _Draws(windows.control, removal, np.random.default_rng(seed))
    kept = [_attached(cpu, detached) for cpu in samples]
    cut = [_Cpu.cut(cpu, windows, removal, usual_ns, draws) for cpu in kept]
    unseen = sum(int(np.count_nonzero(~cpu.seen)) for cpu in cut)
    took = [removal.spent_ns(activation) >= RESOLUTION_NS for activation in windows.control]
    most = most_affected(sum(took), len(took), unseen)
    low_ns = _lowered(cut, most, usual_ns)
    affected = sum(removal.spent_ns(late) >= RESOLUTION_NS for late in windows.late) + sum(took)
    return RemovedRows(
        recorded=kept,
        low=[replace(cpu, latency_ns=ns) for cpu, ns in zip(kept, low_ns, strict=True)],
        high=[
            replace(cpu, latency_ns=each.high_ns, overrun=each.overrun)
            for cpu, each in zip(kept, cut, strict=True)
        ],
        affected=affected,
        unseen=unseen,
        most_unseen=most,
    )


def _lowered(cut: Sequence[_Cpu], most: int, usual_ns: int) -> list[Int64s]:
    """Return the low latencies with the largest unseen rows of all CPUs as usual."""
    together = lower_largest(
        np.concatenate([cpu.low_ns for cpu in cut]) if cut else np.empty(0, np.int64),
        ~np.concatenate([cpu.seen for cpu in cut]) if cut else np.empty(0, bool),
        most,
        usual_ns,
    )
    return np.split(together, np.cumsum([cpu.low_ns.size for cpu in cut])[:-1])


def _usual_ns(control: Sequence[Breakdown], removal: Removal) -> int:
    """Return what half of the control activations take without the causes; 0 without any."""
    least = [activation.latency_ns - removal.spent_ns(activation) for activation in control]
    return int(statistics.median(least)) if least else 0


class _Draws:
    """Draws a control activation's latency, for what a cause may have hidden."""

    def __init__(
        self, control: Sequence[Breakdown], removal: Removal, rng: np.random.Generator
    ) -> None:
        self._high_ns = [bound_without(activation, removal).high_ns for activation in control]
        self._rng = rng

    def latency_ns(self) -> int:
        """Return the latency without the causes of a control activation; 0 without any."""
        if not self._high_ns:
            return 0
        return self._high_ns[int(self._rng.integers(len(self._high_ns)))]


@dataclass
class _Cpu:
    """Rows of a CPU: low and high latencies, which are seen, which are overruns at the most."""

    low_ns: Int64s
    high_ns: Int64s
    seen: Bools
    overrun: Bools

    @classmethod
    def cut(
        cls,
        cpu: CpuSamples,
        windows: Windows,
        removal: Removal,
        usual_ns: int,
        draws: _Draws,
    ) -> _Cpu:
        """Return the rows of a CPU with what its windows tell."""
        rows = cls(
            cpu.latency_ns.copy(),
            cpu.latency_ns.copy(),
            np.zeros(cpu.size, bool),
            cpu.overrun.copy(),
        )
        own = [each for each in (*windows.late, *windows.control) if each.cpu == cpu.cpu]
        order = np.argsort(cpu.activation, kind="stable")
        numbers = cpu.activation[order]
        at: dict[int, Breakdown] = {}
        for breakdown in own:
            place = int(np.searchsorted(numbers, breakdown.activation))
            if place < numbers.size and numbers[place] == breakdown.activation:
                at[int(order[place])] = breakdown
        rows.seen[list(at)] = True
        for row, breakdown in at.items():
            bounds = bound_without(breakdown, removal, usual_ns)
            rows._set(row, bounds, breakdown.latency_ns, draws)
            if removal.spent_ns(breakdown):
                rows._set_stalled(cpu, row, breakdown, bounds, removal, usual_ns, draws)
        return rows

    def _set(self, row: int, bounds: Bounds, latency_ns: int, draws: _Draws) -> None:
        """Set a row; what the causes made shorter may meet another cause, and gains nothing."""
        self.low_ns[row], self.high_ns[row] = bounds.low_ns, bounds.high_ns
        if bounds.high_ns < latency_ns:
            self.high_ns[row] = min(latency_ns, max(bounds.high_ns, draws.latency_ns()))

    def _set_stalled(
        self,
        cpu: CpuSamples,
        row: int,
        breakdown: Breakdown,
        bounds: Bounds,
        removal: Removal,
        usual_ns: int,
        draws: _Draws,
    ) -> None:
        """Set the rows that came due in the same stall and have no window: overruns, mostly."""
        run_ns = breakdown.due_ns + breakdown.latency_ns
        first, end = cpu.rows_due(np.array([breakdown.due_ns, run_ns])).tolist()
        for other in range(first, end):
            if other == row or self.seen[other]:
                continue
            due_ns = int(cpu.due_of(np.array([other]))[0])
            latency_ns = int(cpu.latency_ns[other])
            self.seen[other] = True
            if due_ns >= breakdown.due_ns + bounds.high_ns:
                # The stall is over by then: it is as any other activation, and surely observed.
                self.low_ns[other] = min(usual_ns, latency_ns)
                self.high_ns[other] = max(draws.latency_ns(), usual_ns)
                self.overrun[other] = False
                continue
            part = clip_breakdown(breakdown, int(cpu.activation[other]), due_ns, latency_ns)
            its = bound_without(part, removal, usual_ns)
            self.low_ns[other], self.high_ns[other] = its.low_ns, its.high_ns


def _attached(cpu: CpuSamples, detached: Sequence[tuple[int, int]]) -> CpuSamples:
    """Return the rows of a CPU of which the recorder could have had a window."""
    if not detached:
        return cpu
    due_ns = cpu.due_ns
    run_ns = due_ns + cpu.latency_ns
    kept = np.ones(cpu.size, bool)
    for begin_ns, end_ns in detached:
        kept &= ~((due_ns < end_ns) & (run_ns > begin_ns))
    woken = cpu.woken and replace(
        cpu.woken,
        due_ns=cpu.woken.due_ns[kept],
        pid=cpu.woken.pid[kept],
        origin=cpu.woken.origin[kept],
    )
    return replace(
        cpu,
        activation=cpu.activation[kept],
        latency_ns=cpu.latency_ns[kept],
        overrun=cpu.overrun[kept],
        woken=woken,
        stages=None,
    )


def by_control(breakdowns: Sequence[tuple[Breakdown, bool]]) -> Windows:
    """Return recorded activations apart: each with whether it is a control activation."""
    apart: dict[bool, list[Breakdown]] = defaultdict(list)
    for breakdown, is_control in breakdowns:
        apart[is_control].append(breakdown)
    return Windows(apart[False], apart[True])
