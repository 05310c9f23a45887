"""The observer effect of a run: what its own recorder adds to its latencies.

In some blocks of the run the recorder is detached, drawn at random, one in each group of blocks
(whylate.run.detaching). The figures compare the activations of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whylate.quantities import format_count, format_ns, format_percent, format_span_ns
from whylate.recording.manifest import DetachedReport, Manifest
from whylate.recording.samples import Activations
from whylate.recording.workloads.activations import DetachPlan
from whylate.stats.comparison.alternation import (
    FEWEST_GROUPS,
    Added,
    Group,
    estimate_added,
)
from whylate.stats.comparison.run_statistics import P50, P99
from whylate.stats.run.ordered import Ordered
from whylate.stats.run.values import ValueCounter, without
from whylate.summary.model import AddedFigure, Caution, ObserverEffect

#: Activations that are due so near to a switch belong to neither side: caches and deferred work.
SETTLE_NS = 10_000_000
#: Less of the planned time than this was without the recorder: what is left was not drawn.
LEAST_DETACHED = 0.6
#: A part of p50 or p99 that is worth a warning.
OWN_WORK = 0.05
STATISTICS = (P50, P99)

#: Times on the board's clock, [from, to).
Span = tuple[int, int]


@dataclass(frozen=True)
class _Block:
    """The times of one group of blocks in which the recorder was attached, and detached."""

    attached: list[Span]
    detached: list[Span]


def observer_effect(manifest: Manifest, series: Sequence[Activations]) -> ObserverEffect | None:
    """Return what the recorder adds to p50 and p99; None where it was not to be detached.

    Without figures, and with the reason, where detaching it did not work, or took too long.
    """
    report, plan = manifest.recorder, manifest.plan.recorder
    detach = plan.detach if plan is not None else None
    if report is None or report.engine is None or detach is None or not manifest.cpus:
        return None
    stretches = report.detached
    start_ns = manifest.cpus[0].start_ns
    end_ns = max(account.end_ns for account in manifest.cpus)
    reason = _not_applied(stretches)
    groups = list(_groups(detach, stretches, start_ns, end_ns))
    measured = [_measured(group, series) for group in groups]
    both = [group for group in measured if group.treated.n and group.untreated.n]
    attached = sum(group.treated.n for group in both)
    detached = sum(group.untreated.n for group in both)
    spent_ns = sum(end - start for group in groups for start, end in group.detached)
    due_ns = sum(
        max(0, min(detach.block_ns, end_ns - start_ns - block * detach.block_ns))
        for block in detach.blocks
    )
    if reason is None and len(both) < FEWEST_GROUPS:
        reason = (
            f"only {len(both)} of {len(detach.blocks)} groups of blocks have activations with it "
            f"and without; {FEWEST_GROUPS} are needed"
        )
    if reason is None and spent_ns < LEAST_DETACHED * due_ns:
        reason = (
            f"detaching and attaching it took so long that {format_span_ns(spent_ns)} of "
            f"{format_span_ns(due_ns)} were without it"
        )
    figures = [] if reason else _figures(both)
    if reason is None and not figures:
        reason = (
            "too few activations were measured without it, or overruns reach into p50 and p99: "
            "measure longer"
        )
    return ObserverEffect(
        detached_ns=spent_ns,
        block_ns=detach.block_ns,
        every=detach.every,
        groups=len(both),
        switches=2 * len(stretches),
        attached=attached,
        detached=detached,
        left_out=sum(cpu.size for cpu in series) - attached - detached,
        added=figures,
        reason=reason,
    )


def _not_applied(stretches: Sequence[DetachedReport]) -> str | None:
    """Return why the recorder was not detached, or not attached again, as planned."""
    counted = [stretch for stretch in stretches if stretch.after is not None]
    if not counted:
        return "it was not seen to be detached"
    within = sum((stretch.after or 0) - (stretch.before or 0) for stretch in counted)
    if within:
        return f"{format_count(within)} events were recorded while it was detached"
    if any(stretch.error for stretch in stretches):
        return "it was not attached again in full"
    between = [(b.before or 0) - (a.after or 0) for a, b in pairwise(counted)]
    if min(between, default=1) <= 0:
        return "nothing was recorded while it was attached"
    return None


def _groups(
    plan: DetachPlan, stretches: Sequence[DetachedReport], start_ns: int, end_ns: int
) -> Iterator[_Block]:
    """Yield the groups in which it is known when the recorder was detached."""
    length_ns = plan.every * plan.block_ns
    for group in sorted({block // plan.every for block in plan.blocks}):
        first_ns = start_ns + group * length_ns
        last_ns = min(first_ns + length_ns, end_ns)
        own = [
            s
            for s in stretches
            if s.begin_ns - SETTLE_NS < last_ns and s.until_ns + SETTLE_NS > first_ns
        ]
        if first_ns >= last_ns or any(stretch.after is None for stretch in own):
            continue
        attached, at = [], first_ns
        for stretch in own:
            attached.append((at, min(last_ns, stretch.begin_ns - SETTLE_NS)))
            at = max(first_ns, stretch.until_ns + SETTLE_NS)
        attached.append((at, last_ns))
        detached = [
            (max(first_ns, s.from_ns + SETTLE_NS), min(last_ns, s.to_ns - SETTLE_NS)) for s in own
        ]
        yield _Block(*([span for span in spans if span[0] < span[1]]
                       for spans in (attached, detached)))  # fmt: skip


def _measured(block: _Block, series: Sequence[Activations]) -> Group:
    return Group(_ordered(block.attached, series), _ordered(block.detached, series))


def _ordered(spans: Sequence[Span], series: Sequence[Activations]) -> Ordered:
    """Put the latencies of all activations that were due in these spans in order."""
    bound, overruns = ValueCounter(), ValueCounter()
    times_ns = np.array(spans, np.int64).reshape(-1, 2)
    for cpu in series:
        for first, end in cpu.rows_due(times_ns).tolist():
            for latency_ns, overrun in cpu.chunks(first, end):
                bound.add(latency_ns)
                overruns.add(latency_ns[overrun])
    values, taken = bound.values(), overruns.values()
    return Ordered(values, without(values, taken) if taken.n else values)


def _figures(groups: Sequence[Group]) -> list[AddedFigure]:
    added = {statistic.name: estimate_added(groups, statistic) for statistic in STATISTICS}
    return [_figure(name, figure) for name, figure in added.items() if figure is not None]


def _figure(name: str, added: Added) -> AddedFigure:
    difference, ratio = added.difference_ns, added.ratio
    return AddedFigure(
        name=name,
        attached_ns=round(added.treated_ns),
        detached_ns=round(added.untreated_ns),
        added_ns=round(difference.value),
        low_ns=round(difference.low),
        high_ns=round(difference.high),
        ratio=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
    )


def observer_cautions(effect: ObserverEffect | None) -> Iterator[Caution]:
    """Warn where the recorder's own work is a good part of a quantile."""
    for figure in effect.added if effect is not None else ():
        part = 1 - 1 / figure.ratio_low
        if part <= OWN_WORK:
            continue
        text = (
            f"The recorder itself adds {format_ns(figure.added_ns)} to {figure.name}: at least "
            f"{format_percent(part)} of it is the recorder's own work (95 % CI). "
            "--no-recorder measures without it."
        )
        yield Caution("observer", text)
