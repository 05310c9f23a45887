"""What is printed of a section beside the durations of its executions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_count, format_ns, format_percent
from whylate.recording.imported.executions.model import Column
from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations
from whylate.recording.sections import PartName, SectionReport
from whylate.recording.store.executions import ExecutionFile, Executions
from whylate.recording.treatments import Treatment
from whylate.recording.waits import bin_edges
from whylate.stats.executions.parts import TIMES, ExecutionClass, Times, classify, find_classes
from whylate.stats.run.in_time import rows_in_time
from whylate.summary.arms import experiment_figures
from whylate.summary.executions import Counted, CounterFigures, counter_figures
from whylate.summary.kept import kept_figures
from whylate.summary.locks import lock_figures, main_lock
from whylate.summary.model import (
    Caution,
    Exceedance,
    ExecutionClassFigures,
    LongerFigures,
    MainLock,
    SectionFigures,
)
from whylate.summary.own_code import ByTime, CountedCode, classify_own_code
from whylate.summary.paths import path_figures, sample_figures
from whylate.summary.section_counters import count_section, section_counters

#: The parts that are times, and what each is called; what each takes to be observed.
_CLASSES: dict[str, tuple[str, PartName]] = {
    "interrupted_ns": ("interrupted", "interrupts"),
    "preempted_ns": ("preempted", "switches"),
    "slept_ns": ("asleep", "switches"),
    "lock_ns": ("waiting for a lock", "locks"),
    "fault_ns": ("page fault", "time of page faults"),
    "steal_ns": ("steal", "steal"),
}


_UNFOLLOWED = (
    "No switch of threads was observed: counts are of whatever ran on the CPU between the marks."
)


def section_figures(
    manifest: Manifest,
    executions: ExecutionFile | None,
    median_ns: int | None,
    series: Sequence[Activations] = (),
) -> SectionFigures | None:
    """Return how executions were timed, and what became of them; None of another workload.

    executions: None leaves out why some took longer, and so does a median of None. series: their
    durations.
    """
    report = manifest.section
    if report is None:
        return None
    bins = [cpu.bins[-1].bin for cpu in report.cpus]
    longer = counters = None
    if executions is not None and median_ns is not None:
        split = _split(report, executions, TIMES * median_ns, manifest.plan.seed)
        by_time = _by_time(split, manifest)
        own_code = classify_own_code(executions.counters, split.longer, split.others, by_time)
        # Groups lack waits that were overwritten.
        has_waits = all(problem.code != "locks" for problem in manifest.problems)
        longer = _longer(report, split, own_code, has_waits=has_waits)
        if executions.counters:
            counted = _count(split, executions, by_time, own_code)
            counters = section_counters(report, executions, counted)
    return SectionFigures(
        hook=report.hook,
        one_in=report.one_in,
        account=report.account,
        longest_ns=bin_edges(max(bins))[1] if bins else None,
        locks=lock_figures(report.locks),
        kept=kept_figures(manifest, executions, _limit(manifest), _observed(report)),
        paths=path_figures(manifest),
        samples=sample_figures(manifest),
        floor_before=report.floor_before,
        floor_after=report.floor_after,
        duration=_duration(series),
        longer=longer,
        counters=counters,
        experiment=experiment_figures(
            _treatment(manifest), report.arms, executions, manifest.plan.seed
        ),
    )


def _treatment(manifest: Manifest) -> Treatment | None:
    workload = manifest.plan.activations
    return workload.experiment if workload is not None else None


def _limit(manifest: Manifest) -> int | None:
    workload = manifest.plan.activations
    return workload.longer_than_ns if workload is not None else None


def _observed(report: SectionReport) -> dict[str, str]:
    """Return the columns of the parts that were observed, and the names of their classes."""
    return {column: name for column, (name, part) in _CLASSES.items() if part in report.observed}


def _duration(series: Sequence[Activations]) -> CounterFigures | None:
    """Return the figures of durations, and which is the most frequent."""
    values = rows_in_time(series)
    column = Column("duration", "duration", "ns")
    return counter_figures(column, values.astype(np.float64)) if values.size else None


def count_executions_of(
    manifest: Manifest, executions: ExecutionFile | None, summary: SectionFigures | None
) -> Counted | None:
    """Return executions with counts, one by one, as a summary is of them; None: there is none."""
    report = manifest.section
    if (
        report is None
        or executions is None
        or summary is None
        or summary.counters is None
        or summary.longer is None
    ):
        return None
    split = _split(report, executions, summary.longer.above_ns, manifest.plan.seed)
    by_time = _by_time(split, manifest)
    own_code = classify_own_code(executions.counters, split.longer, split.others, by_time)
    return _count(split, executions, by_time, own_code)


@dataclass(frozen=True)
class _Split:
    """Executions that took longer than above_ns, and others, some of `count`.

    columns: the parts that were observed.
    """

    above_ns: int
    seed: int
    longer: Executions
    others: Executions
    count: int
    columns: Sequence[str]

    def times(self) -> tuple[Times, Times]:
        """Return both with their parts."""
        return _times(self.longer, self.columns), _times(self.others, self.columns)


def _split(report: SectionReport, executions: ExecutionFile, above_ns: int, seed: int) -> _Split:
    """Return executions by whether they took longer; raises RecordingError."""
    return _Split(above_ns, seed, *executions.split(above_ns, seed), list(_observed(report)))


def _by_time(split: _Split, manifest: Manifest) -> ByTime:
    longer, others = split.times()
    names = [_CLASSES[name][0] for name in split.columns]
    classes = np.full(longer.duration_ns.size, -1, np.int64)
    if others.duration_ns.size:
        classes = find_classes(longer, others)
    is_sampled = manifest.section is not None and "own code" in manifest.section.observed
    return ByTime(classes, names, manifest.start_ns, is_sampled)


def _count(
    split: _Split, executions: ExecutionFile, by_time: ByTime, own_code: CountedCode
) -> Counted | None:
    return count_section(
        executions.counters, split.longer, split.others, split.count, by_time, own_code, split.seed
    )


def _longer(
    report: SectionReport, split: _Split, own_code: CountedCode, *, has_waits: bool
) -> LongerFigures:
    """Return why executions took longer. has_waits: the groups of waits have all of them."""
    longer, others, count, above_ns = split.longer, split.others, split.count, split.above_ns
    names = [_CLASSES[name][0] for name in split.columns]
    classes = classify(*split.times(), names, split.seed, own_code.divided())
    waits = main_lock(lock_figures(report.locks), _waited_ns(split)) if has_waits else None
    mean_ns = float(others.duration_ns.mean()) if others.duration_ns.size else 0.0
    return LongerFigures(
        above_ns=above_ns,
        count=longer.duration_ns.size,
        of=count + longer.duration_ns.size,
        excess_ns=round(float((longer.duration_ns - mean_ns).sum())),
        classes=[_class_figures(each, split, waits) for each in classes],
        not_observed=[name for name in dict.fromkeys(part for _, part in _CLASSES.values())
                      if name not in report.observed],
        overlapping=sum(times.overlapping for times in split.times()),
        own_code_lacks=own_code.lacks,
    )  # fmt: skip


def _times(executions: Executions, columns: Sequence[str]) -> Times:
    parts = [executions.part(name) for name in columns]
    size = executions.duration_ns.size
    return Times(
        executions.began_ns,
        executions.duration_ns,
        np.column_stack(parts) if parts else np.empty((size, 0), np.int64),
    )


def _waited_ns(split: _Split) -> int:
    """Return for how long the executions that took longer waited for locks."""
    return int(split.longer.part("lock_ns").sum()) if "lock_ns" in split.columns else 0


def _class_figures(
    each: ExecutionClass, split: _Split, waits: MainLock | None
) -> ExecutionClassFigures:
    longer = split.longer
    row = each.longest if each.longest >= 0 else None

    def known(values: NDArray[np.int64]) -> int | None:
        return None if row is None else int(values[row])

    return ExecutionClassFigures(
        name=each.name,
        share=each.share,
        low=None if math.isnan(each.low) else each.low,
        high=None if math.isnan(each.high) else each.high,
        count=each.count,
        longest_ns=known(longer.duration_ns),
        cpu=known(longer.cpu),
        number=known(longer.number),
        pid=known(longer.pid),
        waits=waits if each.name == _CLASSES["lock_ns"][0] else None,
    )


def without_all_rows(section: SectionFigures | None) -> Exceedance | None:
    """Return the refused bound of a section of which only some executions have rows."""
    if section is None or (section.one_in == 1 and section.experiment is None):
        return None
    if section.experiment is not None:
        reason = "only the placebo's executions are judged, and half of those drawn are treated"
        return Exceedance(None, None, None, None, None, None, reason)
    reason = f"only 1 of {format_count(section.one_in)} executions has a row"
    kept = section.kept
    if kept is not None and kept.longest and kept.longest[0].duration_ns > kept.above_ns:
        reason += f"; the longest that is kept took {format_ns(kept.longest[0].duration_ns)}"
    elif section.longest_ns is not None:
        reason += f"; all took less than {format_ns(section.longest_ns)}"
    return Exceedance(None, None, None, None, None, None, reason)


def _is_unfollowed(section: SectionFigures) -> bool:
    """Whether executions have counts, and nothing says which thread was on the CPU."""
    if section.counters is None or section.longer is None:
        return False
    return section.counters.own > 0 and "switches" in section.longer.not_observed


def section_cautions(section: SectionFigures | None) -> Iterator[Caution]:
    """Yield what leaves executions of a section without a duration."""
    if section is not None and _is_unfollowed(section):
        yield Caution("section", _UNFOLLOWED)
    if section is not None and section.longer is not None and section.longer.overlapping:
        number = format_count(section.longer.overlapping)
        yield Caution(
            "section",
            f"{number} of the executions that were read have parts that together are longer than "
            "the whole: some time is in two of them.",
        )
    account = section.account if section is not None else None
    if account is None or not account.entries:
        return
    parts = (
        (
            account.left,
            ("was left without a return that was seen", "were left without a return that was seen"),
        ),
        (
            account.too_deep,
            (
                "was within too many others of its thread",
                "were within too many others of their thread",
            ),
        ),
        (account.no_room, ("came while too many threads were in the section",) * 2),
    )
    for count, (single, several) in parts:
        if count:
            part = count / account.entries
            share = format_percent(part, 2 if part < 0.01 else 0)
            what = (
                f"1 execution ({share}) {single}: how long it took"
                if count == 1
                else f"{format_count(count)} executions ({share}) {several}: how long they took"
            )
            yield Caution("section", f"{what} is not known.")
    if account.missed:
        times = "once" if account.missed == 1 else f"{format_count(account.missed)} times"
        text = (
            f"The kernel did not run a hook {times}, as where one interrupts another: executions "
            "are missing, or were not seen to return."
        )
        yield Caution("section", text)
