"""Classes of longer executions on boards that know why each took longer: see executions.c."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from section_rig import REASONS, Known, Timed, time_sections

from own_boards import own_boards
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.stats.executions.parts import REST, TIMES, Times, find_classes
from whylate.wire.app_samples import PARTS
from whylate.wire.constants import ExecutionPart, SectionHook

pytestmark = pytest.mark.qemu

MS = 1_000_000
#: From a hook's reading of the clock to the function's own, at most.
NEAR_NS = 100_000
BOARDS = {"pc": SectionHook.FENTRY, "virt-arm64": SectionHook.KPROBE}
#: By reason, where it is not called so.
CLASSES = {"page fault that sleeps": "page fault", "longer path": REST}
COLUMNS = {
    "interrupted": "interrupted_ns",
    "preempted": "preempted_ns",
    "asleep": "slept_ns",
    "waiting for a lock": "lock_ns",
    "page fault": "fault_ns",
    "steal": "steal_ns",
}


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards(*BOARDS):
        yield


@cache
def run_on(board: str) -> tuple[Timed, Known]:
    place = KernelFunction("srcu_notifier_call_chain")
    section = Section(duration_ns=750 * MS, place=place, comm="mixed", one_in=1)
    ((timed, known),) = time_sections(board, [("mixed", section)])
    return timed, known


def reasons_of(timed: Timed, known: Known) -> NDArray[np.int64]:
    """Return the reason of each row: that of the next execution that began."""
    at = np.searchsorted(known.begin_ns, timed.begin_ns)
    assert (known.begin_ns[at] - timed.begin_ns < NEAR_NS).all()
    return known.reason[at]


def classes_of(timed: Timed, is_longer: NDArray[np.bool_]) -> list[str]:
    """Return the class of each longer execution, by the parts that were observed."""
    observed = timed.started.parts
    names = [name for name in COLUMNS if name != "steal" or observed & ExecutionPart.STEAL]
    columns = [PARTS.index(COLUMNS[name]) for name in names]

    def times(which: NDArray[np.bool_]) -> Times:
        return Times(timed.begin_ns[which], timed.duration_ns[which],
                     timed.parts[which][:, columns])  # fmt: skip

    return [[*names, REST][place] for place in find_classes(times(is_longer), times(~is_longer))]


def longer_of(timed: Timed) -> NDArray[np.bool_]:
    longer: NDArray[np.bool_] = timed.duration_ns > TIMES * np.median(timed.duration_ns)
    return longer


@pytest.mark.parametrize("board", BOARDS)
def test_all_executions_are_timed_by_the_best_hook_and_faults_have_a_time(board: str) -> None:
    timed, _ = run_on(board)
    assert timed.closes
    assert timed.started.hook == BOARDS[board]
    assert timed.started.parts & ExecutionPart.FAULT
    assert timed.started.parts & ExecutionPart.FAULT_TIME
    # Nobody takes time from an emulator's CPU.
    assert not timed.started.parts & ExecutionPart.STEAL


@pytest.mark.parametrize("board", BOARDS)
def test_no_part_is_negative_and_all_together_take_no_longer_than_the_execution(board: str) -> None:
    timed, _ = run_on(board)
    parts = timed.parts[:, [PARTS.index(column) for column in COLUMNS.values()]]
    assert (parts >= 0).all()
    assert (parts.sum(axis=1) <= timed.duration_ns).all()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("reason", [name for name in REASONS if name])
def test_the_class_of_a_longer_execution_is_its_reason(board: str, reason: str) -> None:
    timed, known = run_on(board)
    is_longer = longer_of(timed)
    is_of = reasons_of(timed, known)[is_longer] == REASONS.index(reason)
    assert is_of.sum() >= 30
    found = np.array(classes_of(timed, is_longer))[is_of]
    assert (found == CLASSES.get(reason, reason)).mean() >= 0.95


@pytest.mark.parametrize("board", BOARDS)
def test_what_has_no_reason_has_no_class(board: str) -> None:
    """A tick or the emulator's turns make few of them longer; a tick is an interrupt of it."""
    timed, known = run_on(board)
    is_longer = longer_of(timed)
    is_of = reasons_of(timed, known)[is_longer] == 0
    false = np.array(classes_of(timed, is_longer))[is_of] != REST
    assert false.sum() <= 0.01 * (reasons_of(timed, known) == 0).sum()


@pytest.mark.parametrize("board", BOARDS)
def test_page_faults_are_those_that_the_function_makes_and_nothing_else_has_their_time(
    board: str,
) -> None:
    timed, known = run_on(board)
    reasons = reasons_of(timed, known)
    is_of, sleeps = (reasons == REASONS.index(name) for name in REASONS if "fault" in name)
    faults, took_ns, slept_ns = (
        timed.parts[:, PARTS.index(name)] for name in ("faults", "fault_ns", "slept_ns")
    )
    # As executions.c has it.
    assert (faults[is_of] == 24).all()
    assert (faults[sleeps] == 1).all()
    assert (took_ns[sleeps] >= 150_000).all()
    # What a fault sleeps is of the fault.
    assert not slept_ns[is_of | sleeps].any()
    assert (took_ns[is_of] > 0).all()
    assert not faults[~is_of & ~sleeps].any()
    assert not took_ns[~is_of & ~sleeps].any()
    # What the faults take is in no other part, and most of what the execution takes more.
    more_ns = timed.duration_ns[is_of] - np.median(timed.duration_ns[~is_of])
    assert np.median(took_ns[is_of] / more_ns) > 0.75
