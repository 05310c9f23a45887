"""Executions of which it is known why each took longer, and the class that each has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from section_rig import Known, Timed, time_sections

from whylate.recording.store.executions import Executions
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.stats.executions.parts import REST, TIMES, Times, find_classes
from whylate.summary.own_code import ByTime, classify_own_code
from whylate.summary.section_counters import NOT_CLASSED
from whylate.wire.app_samples import PARTS
from whylate.wire.constants import ExecutionPart, SectionHook

MS = 1_000_000
#: pc counts nothing.
COUNTERS: dict[str, tuple[str, ...]] = {"pc": (), "virt-arm64": ("cycles", "instructions")}
BOARDS = {"pc": SectionHook.FENTRY, "virt-arm64": SectionHook.KPROBE}
#: By reason, where it is not called so.
CLASSES = {"page fault that sleeps": "page fault", "longer path": REST, "spin": REST}
COLUMNS = {
    "interrupted": "interrupted_ns",
    "preempted": "preempted_ns",
    "asleep": "slept_ns",
    "waiting for a lock": "lock_ns",
    "page fault": "fault_ns",
    "steal": "steal_ns",
}


def run_for(board: str, duration_ns: int) -> tuple[Timed, Known]:
    """Time executions of kind mixed on a board, which is booted for it."""
    place = KernelFunction("srcu_notifier_call_chain")
    counters = [CounterPlan(name) for name in COUNTERS[board]]
    section = Section(
        duration_ns=duration_ns,
        place=place,
        comm="mixed",
        one_in=1,
        samples=True,
        counters=counters,
    )
    ((timed, known),) = time_sections(board, [("mixed", section)])
    return timed, known


def reasons_of(timed: Timed, known: Known) -> NDArray[np.int64]:
    """Return the reason of each row: that of the next execution that began."""
    at = np.searchsorted(known.begin_ns, timed.begin_ns)
    # The function logs it within.
    assert (known.begin_ns[at] < timed.begin_ns + timed.duration_ns).all()
    return known.reason[at]


def by_time(timed: Timed, is_longer: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the classes of longer executions, by the parts that were observed; and their names."""
    observed = timed.started.parts
    names = [name for name in COLUMNS if name != "steal" or observed & ExecutionPart.STEAL]
    columns = [PARTS.index(COLUMNS[name]) for name in names]

    def times(which: NDArray[np.bool_]) -> Times:
        return Times(timed.begin_ns[which], timed.duration_ns[which],
                     timed.parts[which][:, columns])  # fmt: skip

    return find_classes(times(is_longer), times(~is_longer)), names


def classes_of(timed: Timed, is_longer: NDArray[np.bool_]) -> NDArray[np.str_]:
    """Return the class of each longer execution by time."""
    classes, names = by_time(timed, is_longer)
    return np.array([*names, REST])[classes]


def classes_by_counters(timed: Timed, is_longer: NDArray[np.bool_]) -> dict[int, str]:
    """Return the classes by counters of longer executions that have counts, by number of row."""

    def executions(which: NDArray[np.bool_]) -> Executions:
        return Executions(timed.end_cpu[which], np.flatnonzero(which), timed.begin_ns[which],
                          timed.duration_ns[which], timed.pid[which], timed.parts[which],
                          timed.counts[which])  # fmt: skip

    classes, names = by_time(timed, is_longer)
    longer = executions(is_longer)
    counted = classify_own_code(
        COUNTERS["virt-arm64"], longer, executions(~is_longer),
        ByTime(classes, names, timed.start_ns, is_sampled=True),
    )  # fmt: skip
    assert counted.classes is not None
    found = [str(counted.names[place]) if place >= 0 else NOT_CLASSED for place in counted.classes]
    return {
        number: name
        for number, name, count in zip(longer.number.tolist(), found, longer.counts, strict=True)
        if count[0] >= 0
    }


def longer_of(timed: Timed) -> NDArray[np.bool_]:
    """Return which executions took longer than twice the median."""
    longer: NDArray[np.bool_] = timed.duration_ns > TIMES * np.median(timed.duration_ns)
    return longer
