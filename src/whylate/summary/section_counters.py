"""What was counted between the marks of executions: figures, lines, and classes of longer ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.recording.sections import SectionReport
from whylate.recording.store.executions import ExecutionFile, Executions
from whylate.summary.executions import Counted, counter_figures, fit_lines
from whylate.summary.model import SectionCounters
from whylate.summary.own_code import ByTime, CountedCode, columns_of

#: Of executions in the lists of classes that follow those by counters.
NOT_CLASSED = "not classed by counters"
#: What the others are called beside the classes of longer ones.
NOT_LONGER = "not longer"
_NO_COUNTS = "no execution has counts"


def count_section(
    counters: Sequence[str],
    longer: Executions,
    others: Executions,
    of_others: int,
    by_time: ByTime,
    own_code: CountedCode,
    seed: int,
) -> Counted | None:
    """Return executions with counts, one by one; None where there is none.

    others: of of_others executions that took no longer, some drawn at random; then as large a share
    of the longer ones is drawn, for figures and lines of executions that were selected by a long
    duration are biased. by_time, own_code: the classes of the longer ones.
    """
    is_longer = np.arange(longer.duration_ns.size + others.duration_ns.size) < len(longer.pid)
    counts = np.concatenate((longer.counts, others.counts))
    has = counts[:, 0] >= 0
    if others.duration_ns.size < of_others:
        share = others.duration_ns.size / of_others
        has &= ~is_longer | (np.random.default_rng(seed).random(is_longer.size) < share)
    if not has.any():
        return None
    durations = np.concatenate((longer.duration_ns, others.duration_ns))
    columns = columns_of(counters)
    table = np.column_stack((durations, counts))[has].astype(np.float64)
    values = {column.name: table[:, number] for number, column in enumerate(columns)}
    classes = None
    if own_code.classes is not None:
        # The last place is that of those that have no class.
        of_longer = np.where(own_code.classes < 0, len(own_code.names), own_code.classes)
        none = np.full(others.duration_ns.size, len(own_code.names))
        classes = np.concatenate((of_longer, none)).astype(np.int8)[has]
    kinds, kind_names = _kinds(by_time, is_longer, has, classes)
    return Counted(
        columns=columns,
        values=values,
        marks=None,
        places=None,
        classes=classes,
        no_classes=own_code.reason,
        evidence=own_code.evidence,
        class_names=(*map(str, by_time.by_counters), NOT_CLASSED),
        cpus=np.concatenate((longer.cpu, others.cpu))[has],
        numbers=np.concatenate((longer.number, others.number))[has],
        began_ns=np.concatenate((longer.began_ns, others.began_ns))[has] - by_time.start_ns,
        pids=np.concatenate((longer.pid, others.pid))[has],
        kinds=kinds,
        kind_names=kind_names,
        class_counts=own_code.counts,
    )


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
        classes=counted.class_counts,
        no_classes=counted.no_classes,
        hooks=dict(zip(file.counters, report.hook_counts, strict=False)) or None,
    )
