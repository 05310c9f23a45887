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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from whylate.recording.samples import Activations, Stage
from whylate.recording.store.kept_rows import KeptRows
from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series
from whylate.summary.attached import AttachedActivations
from whylate.summary.figures import estimates
from whylate.summary.model import StageFigures
from whylate.wire.constants import NOT_SEEN

#: Rows are kept where they are no more than one in so many.
_FEW_OF = 64
#: In the order in which they pass.
STAGES: tuple[Stage, ...] = ("interrupt", "thread")


@dataclass(frozen=True)
class _Unseen:
    """Rows in which a stage was not seen, int64, sorted; latencies, int64 ns; overruns, bool."""

    rows: Int64s
    latency_ns: Int64s
    overrun: Bools


@dataclass(frozen=True)
class _StageSeries:
    """A series (whylate.stats.run.cpu_series) whose latency is that of a stage.

    `otherwise` gives the time where it was not seen, from the activation's latency. Computed as it
    is read: kept, it would take as much room as the samples. unseen: the rows where it was not
    seen; None where they are many.
    """

    samples: Activations | AttachedActivations
    stage: Stage
    unseen: _Unseen | None
    otherwise: Callable[[Int64s], Int64s]
    kept: KeptRows = field(default_factory=KeptRows)

    @property
    def size(self) -> int:
        return self.samples.size

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

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        if self.unseen is None:
            yield from self._chunks_of_all(first, end)
            return
        at = first
        for times_ns in self.samples.stage_chunks(self.stage, first, end):
            stage_ns, overrun = times_ns.astype(np.int64), np.zeros(times_ns.size, np.bool_)
            low, high = np.searchsorted(self.unseen.rows, [at, at + times_ns.size])
            rows = self.unseen.rows[low:high] - at
            stage_ns[rows] = self.otherwise(self.unseen.latency_ns[low:high])
            overrun[rows] = self.unseen.overrun[low:high]
            yield stage_ns, overrun
            at += times_ns.size

    def _chunks_of_all(self, first: int, end: int | None) -> Iterator[tuple[Int64s, Bools]]:
        for (latency_ns, overrun), times_ns in zip(
            self.samples.chunks(first, end),
            self.samples.stage_chunks(self.stage, first, end),
            strict=True,
        ):
            unseen = times_ns == NOT_SEEN
            yield np.where(unseen, self.otherwise(latency_ns), times_ns), overrun & unseen

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        return self.kept.exceeding(self, limit_ns, overruns=overruns)


@dataclass(frozen=True)
class _Part:
    """One stage of the activations of a CPU, at the least and at the most that it can be."""

    least: _StageSeries
    most: _StageSeries
    ordered: Ordered
    seen: int


def stage_figures(
    series: Sequence[Activations | AttachedActivations],
) -> dict[int | None, dict[str, StageFigures]]:
    """Summarise the stages of each CPU by its number, and of all together by None.

    Empty where no stage was recorded.
    """
    by_cpu: dict[int | None, dict[str, StageFigures]] = {}
    for name in STAGES if any(cpu.staged for cpu in series) else ():
        parts = {cpu.cpu: _part(cpu, name) for cpu in series}
        for cpu, part in parts.items():
            by_cpu.setdefault(cpu, {})[name] = _figures([part])
        by_cpu.setdefault(None, {})[name] = _figures(list(parts.values()))
    return by_cpu


def _part(samples: Activations | AttachedActivations, stage: Stage) -> _Part:
    """Return a stage of one CPU's activations; those without any stages were not seen."""
    unseen, count = _find_unseen(samples, stage)
    # A latency below zero is one of a thread that ran before it was due: so did its stages.
    least = _StageSeries(samples, stage, unseen, lambda latency_ns: np.minimum(latency_ns, 0))
    most = _StageSeries(samples, stage, unseen, lambda latency_ns: latency_ns)
    seen = samples.size - count
    ordered = sort_series(least) if seen == samples.size else sort_series(least, most)
    return _Part(least, most, ordered, seen)


def _find_unseen(
    samples: Activations | AttachedActivations, stage: Stage
) -> tuple[_Unseen | None, int]:
    """Return the rows in which a stage was not seen, unless they are many; and how many."""
    parts: list[tuple[Int64s, Int64s, Bools]] = []
    count = first = 0
    for (latency_ns, overrun), times_ns in zip(
        samples.chunks(), samples.stage_chunks(stage), strict=True
    ):
        rows = np.flatnonzero(times_ns == NOT_SEEN)
        count += rows.size
        if count * _FEW_OF <= samples.size:
            parts.append((rows + first, latency_ns[rows], overrun[rows]))
        first += times_ns.size
    if not parts or count * _FEW_OF > samples.size:
        return None, count
    return _Unseen(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), count


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
