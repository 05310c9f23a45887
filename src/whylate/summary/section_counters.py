"""What was counted between the marks of executions: figures, lines, and classes of longer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.imported.executions.headings import name_columns
from whylate.recording.imported.executions.model import Column
from whylate.recording.sections import SectionReport
from whylate.recording.store.executions import ExecutionFile, Executions
from whylate.stats.arrays import Floats
from whylate.stats.executions.classes import (
    CLASSES,
    LEAST_EXECUTIONS,
    SAMPLED_CLASSES,
    ExecutionClass,
    classify_executions,
    classify_sampled_executions,
    estimate_typical,
)
from whylate.summary.executions import (
    Counted,
    counter_figures,
    evidence_of,
    fit_lines,
    missing_evidence,
)
from whylate.summary.model import SectionCounters

#: Of executions in the lists of classes that follow those by counters.
NOT_CLASSED = "not classed by counters"
#: What the others are called beside the classes of longer ones.
NOT_LONGER = "not longer"
_NO_COUNTS = "no execution has counts"


@dataclass(frozen=True)
class ByTime:
    """Why executions took longer, by time (whylate.stats.executions.parts).

    classes: int64, of the longer ones, places in names; the place after the last is that of the
    rest, and below 0 none is known. start_ns: when the first CPU was watched. is_sampled: it was
    looked where executions are.
    """

    classes: NDArray[np.int64]
    names: Sequence[str]
    start_ns: int
    is_sampled: bool = False

    @property
    def by_counters(self) -> tuple[ExecutionClass, ...]:
        """Return the classes of those of which none is known by time."""
        return SAMPLED_CLASSES if self.is_sampled else CLASSES


def count_section(
    counters: Sequence[str],
    longer: Executions,
    others: Executions,
    of_others: int,
    by_time: ByTime,
    seed: int,
) -> Counted | None:
    """Return executions with counts, one by one; None where there is none.

    others: of of_others executions that took no longer, some drawn at random; then as large a share
    of the longer ones is drawn, for figures and lines of executions that were selected by a long
    duration are biased. by_time: the classes of the longer ones; those of which none has half of
    their excess are classed by their counters, against the medians of the others.
    """
    own_code = by_time.classes == len(by_time.names)
    is_own = np.concatenate((own_code, np.zeros(others.duration_ns.size, np.bool_)))
    is_longer = np.arange(is_own.size) < own_code.size
    counts = np.concatenate((longer.counts, others.counts))
    has = counts[:, 0] >= 0
    if others.duration_ns.size < of_others:
        share = others.duration_ns.size / of_others
        has &= ~is_longer | (np.random.default_rng(seed).random(is_own.size) < share)
    if not has.any():
        return None
    durations = np.concatenate((longer.duration_ns, others.duration_ns))
    columns = _columns(counters)
    table = np.column_stack((durations, counts))[has].astype(np.float64)
    values = {column.name: table[:, number] for number, column in enumerate(columns)}
    evidence = evidence_of(columns)
    classes, reason = None, missing_evidence(evidence, is_sampled=by_time.is_sampled)
    if reason is None and np.count_nonzero(~is_longer[has]) < LEAST_EXECUTIONS:
        reason = f"classes take {LEAST_EXECUTIONS} executions that took no longer, with counts"
    if reason is None:
        seen = [np.concatenate((longer.part(name), others.part(name)))[has]
                for name in ("samples", "spins")]  # fmt: skip
        took = values[columns[0].name]
        counted = {role: values[name] for role, name in evidence.items()}
        classes = _classify(counted, took, ~is_longer[has], seen if by_time.is_sampled else None)
        classes[~is_own[has]] = len(by_time.by_counters)
    kinds, kind_names = _kinds(by_time, is_longer, has, classes)
    return Counted(
        columns=columns,
        values=values,
        marks=None,
        places=None,
        classes=classes,
        no_classes=reason,
        evidence=evidence,
        class_names=(*map(str, by_time.by_counters), NOT_CLASSED),
        cpus=np.concatenate((longer.cpu, others.cpu))[has],
        numbers=np.concatenate((longer.number, others.number))[has],
        began_ns=np.concatenate((longer.began_ns, others.began_ns))[has] - by_time.start_ns,
        pids=np.concatenate((longer.pid, others.pid))[has],
        kinds=kinds,
        kind_names=kind_names,
    )


def _classify(
    counted: Mapping[str, Floats],
    took_ns: Floats,
    usual: NDArray[np.bool_],
    seen: Sequence[NDArray[np.int64]] | None,
) -> NDArray[np.int8]:
    """Return the class of each execution, int8, shape (n,).

    counted: by what the rule asks for, shape (n,). usual: which took no longer. seen: samples, and
    those of spinning; None: not known.
    """
    cycles, instructions = counted["cycles"], counted["instructions"]
    stalls = counted.get("instruction_stalls")
    stalled = np.zeros_like(cycles) if stalls is None else stalls
    typical = estimate_typical(instructions[usual], stalled[usual], cycles[usual])
    times = took_ns / max(1.0, float(np.median(took_ns[usual])))
    if seen is None:
        return classify_executions(cycles, instructions, stalled, typical, times)
    return classify_sampled_executions(cycles, instructions, stalls, typical, times, *seen)


def _kinds(
    by_time: ByTime,
    is_longer: NDArray[np.bool_],
    has: NDArray[np.bool_],
    classes: NDArray[np.int8] | None,
) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """Return why each execution with counts took longer, and the names of that."""
    names = (NOT_LONGER, *by_time.names, *map(str, by_time.by_counters))
    unexplained = len(names) - 1
    known = (by_time.classes >= 0) & (by_time.classes < len(by_time.names))
    kinds = np.zeros(is_longer.size, np.int8)
    kinds[is_longer] = np.where(known, by_time.classes + 1, unexplained)
    kinds = kinds[has]
    if classes is not None:
        by_counters = (kinds == unexplained) & (classes < len(by_time.by_counters))
        kinds[by_counters] = 1 + len(by_time.names) + classes[by_counters]
    return kinds, names


def _columns(counters: Sequence[str]) -> tuple[Column, ...]:
    """Return what each counter is by its name; of no known kind it is another one."""
    roles = name_columns(["duration_ns", *counters]) or [None] * (1 + len(counters))
    return (
        Column("duration_ns", "duration", "ns"),
        *(
            Column(name, role.role if role is not None else "other")
            for name, role in zip(counters, roles[1:], strict=True)
        ),
    )


def section_counters(
    report: SectionReport, file: ExecutionFile, counted: Counted | None
) -> SectionCounters | None:
    """Return what is printed of the counts of a section; None where no event was counted."""
    account = report.counts
    if account is None or not file.counters:
        return None
    if counted is None:
        return SectionCounters(
            own=account.own,
            refused=account.refused,
            shared=account.shared,
            counters=[],
            fits=[],
            classes=None,
            no_classes=_NO_COUNTS,
            hooks=None,
        )
    in_time = np.arange(counted.n)
    if counted.cpus is not None and counted.numbers is not None:
        in_time = np.lexsort((counted.numbers, counted.cpus))
    classes = None
    if counted.classes is not None:
        names = counted.class_names
        numbers = np.bincount(counted.classes, minlength=len(names)).tolist()
        # The last is of those that have none.
        classes = dict(zip(names[:-1], numbers[:-1], strict=True))
    return SectionCounters(
        own=account.own,
        refused=account.refused,
        shared=account.shared,
        counters=[
            counter_figures(column, counted.values[column.name][in_time])
            for column in counted.columns
            if column.role != "duration"
        ],
        fits=fit_lines(counted),
        classes=classes,
        no_classes=counted.no_classes,
        hooks=dict(zip(file.counters, report.hook_counts, strict=False)) or None,
    )
