"""Interrupt and thread latency: how long an activation took to each stage on its way.

From when it was due:
- interrupt latency: until the interrupt that woke its thread began;
- thread latency: until the CPU was given to its thread;
- user latency: until its thread ran. That is the latency.

These are timerlat's words, and its IRQ, thread and user latency. What it skips counts here: a stage
that was not seen (the recorder had lost it, the thread was still awake and did not sleep, or the
activation is an overrun) came no later than the activation ran. It stands at 0 where a quantile
takes it at the least that it can be, and at the activation's latency where it takes it at the
most; that of an overrun has no upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import CpuSamples, CpuStages
from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series
from whylate.summary.figures import estimates
from whylate.summary.model import StageFigures
from whylate.wire.constants import NOT_SEEN

#: In the order in which they pass.
STAGES = ("interrupt", "thread")


def stage_ns(stages: CpuStages, name: str) -> NDArray[np.int32]:
    """Return a stage by its name, int32 ns since due, shape (n,), NOT_SEEN where it was not."""
    return stages.timer_ns if name == "interrupt" else stages.switched_ns


@dataclass(frozen=True)
class _StageSeries:
    """A series (whylate.stats.run.cpu_series) whose latency is that of a stage.

    times_ns: int32, NOT_SEEN where the stage was not seen; `otherwise` gives the time there, from
    the activation's latency. Latencies are computed on request: stored, ten
    million would take as much memory as the samples.
    """

    samples: CpuSamples
    times_ns: NDArray[np.int32]
    otherwise: Callable[[Int64s], Int64s]

    @property
    def watched_ns(self) -> int:
        return self.samples.watched_ns

    @property
    def per_s(self) -> float:
        return self.samples.per_s

    def due_of(self, rows: Int64s) -> Int64s:
        return self.samples.due_of(rows)

    def rows_due(self, times_ns: Int64s) -> Int64s:
        return self.samples.rows_due(times_ns)

    @property
    def latency_ns(self) -> Int64s:
        seen = self.times_ns != NOT_SEEN
        return np.where(seen, self.times_ns, self.otherwise(self.samples.latency_ns))

    @property
    def overrun(self) -> Bools:
        unseen: Bools = self.times_ns == NOT_SEEN
        return self.samples.overrun & unseen


@dataclass(frozen=True)
class _Part:
    """One stage of the activations of a CPU, at the least and at the most that it can be."""

    least: _StageSeries
    most: _StageSeries
    ordered: Ordered
    seen: int


def stage_figures(series: Sequence[CpuSamples]) -> dict[int | None, dict[str, StageFigures]]:
    """Summarise the stages of each CPU by its number, and of all together by None.

    One stage after the other, for each takes as much memory as the latencies. Empty where no
    stage was recorded.
    """
    by_cpu: dict[int | None, dict[str, StageFigures]] = {}
    for name in STAGES if any(cpu.stages is not None for cpu in series) else ():
        parts = {cpu.cpu: _part(cpu, name) for cpu in series}
        for cpu, part in parts.items():
            by_cpu.setdefault(cpu, {})[name] = _figures([part])
        by_cpu.setdefault(None, {})[name] = _figures(list(parts.values()))
    return by_cpu


def _part(samples: CpuSamples, name: str) -> _Part:
    """Return a stage of one CPU's activations; those without any stages were not seen."""
    stages = samples.stages
    unseen = np.full(samples.latency_ns.size if stages is None else 0, NOT_SEEN, np.int32)
    times_ns = unseen if stages is None else stage_ns(stages, name)
    # A latency below zero is one of a thread that ran before it was due: so did its stages.
    least = _StageSeries(samples, times_ns, lambda latency_ns: np.minimum(latency_ns, 0))
    most = _StageSeries(samples, times_ns, lambda latency_ns: latency_ns)
    seen = int(np.count_nonzero(times_ns != NOT_SEEN))
    ordered = sort_series(least) if seen == times_ns.size else sort_series(least, most)
    return _Part(least, most, ordered, seen)


def _figures(parts: Sequence[_Part]) -> StageFigures:
    """Summarise a stage of some CPUs, as their latency is."""
    seen = sum(part.seen for part in parts)
    n = sum(part.ordered.n for part in parts)
    return StageFigures(
        seen=seen,
        not_seen=n - seen,
        latency_ns=estimates(
            [part.least for part in parts],
            merge_ordered([part.ordered for part in parts]),
            [part.most for part in parts] if seen < n else None,
        ),
    )
