"""Classes of longer executions on boards that know why each took longer: see executions.c."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from section_reasons import (
    BOARDS,
    CLASSES,
    COLUMNS,
    MS,
    classes_by_counters,
    classes_of,
    longer_of,
    reasons_of,
    run_for,
)
from section_rig import REASONS, Known, Timed

from own_boards import own_boards
from whylate.stats.executions.parts import REST, TIMES
from whylate.summary.section_counters import NOT_CLASSED
from whylate.wire.app_samples import PARTS
from whylate.wire.constants import ExecutionPart

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards(*BOARDS):
        yield


@cache
def run_on(board: str) -> tuple[Timed, Known]:
    return run_for(board, 650 * MS)


@pytest.mark.parametrize("board", BOARDS)
def test_all_executions_are_timed_by_the_best_hook_and_faults_have_a_time(board: str) -> None:
    timed, _ = run_on(board)
    assert timed.closes
    assert timed.started.hook == BOARDS[board]
    assert timed.started.parts & ExecutionPart.FAULT
    assert timed.started.parts & ExecutionPart.FAULT_TIME
    assert timed.started.parts & ExecutionPart.SAMPLE
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
    assert is_of.sum() >= 20
    found = classes_of(timed, is_longer)[is_of]
    assert (found == CLASSES.get(reason, reason)).mean() >= 0.95


@pytest.mark.parametrize("board", BOARDS)
def test_what_has_no_reason_has_no_class(board: str) -> None:
    """The module knows nothing of the board's own interrupts: few executions have a long one.

    The console's, for example, when the section begins. It is why they took longer where what is
    left of them is not longer.
    """
    timed, known = run_on(board)
    is_longer = longer_of(timed)
    has_none = reasons_of(timed, known) == 0
    is_of = has_none[is_longer]
    classes = classes_of(timed, is_longer)
    interrupted_ns = timed.parts[:, PARTS.index(COLUMNS["interrupted"])]
    left_ns = (timed.duration_ns - interrupted_ns)[is_longer]
    is_own = (classes == "interrupted") & (left_ns <= TIMES * np.median(timed.duration_ns))
    assert (is_of & is_own).sum() <= 0.03 * has_none.sum()
    assert (is_of & ~is_own & (classes != REST)).sum() <= 0.01 * has_none.sum()


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
    # What the faults take is in no other part, and most of what the execution takes more: the
    # exceptions, and the hooks at what handles them, are beside it.
    more_ns = timed.duration_ns[is_of] - np.median(timed.duration_ns[~is_of])
    assert np.median(took_ns[is_of] / more_ns) > 0.7


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("spin", "spinning"),
        ("longer path", "more work"),
        *((reason, NOT_CLASSED) for reason in REASONS[1:-2]),
    ],
)
def test_what_no_time_says_counters_and_samples_do(reason: str, name: str) -> None:
    timed, known = run_on("virt-arm64")
    classes = classes_by_counters(timed, longer_of(timed))
    of_reason = (reasons_of(timed, known) == REASONS.index(reason)) & longer_of(timed)
    found = [classes[row] for row in np.flatnonzero(of_reason).tolist() if row in classes]
    # One that lost its CPU has counts, too.
    assert len(found) >= 20
    assert len(found) >= 0.95 * of_reason.sum()
    assert found.count(name) >= 0.95 * len(found)


def test_counters_and_samples_give_no_class_without_a_reason() -> None:
    timed, known = run_on("virt-arm64")
    without = np.flatnonzero(reasons_of(timed, known) == 0)
    assert without.size > 300
    # Longer ones alone have a class, and each is held against all executions without a reason.
    classes = classes_by_counters(timed, longer_of(timed))
    found = [classes.get(row) for row in without.tolist()]
    assert sum(name in ("spinning", "more work") for name in found) <= 0.01 * without.size


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("function", ["executions_longer", "queued_spin_lock_slowpath"])
def test_only_longer_executions_are_seen_in_what_makes_them_longer(
    board: str, function: str
) -> None:
    timed, _ = run_on(board)
    longer = control = 0
    for sample in timed.samples:
        if any(function in caller for caller in sample.callers):
            longer += sample.longer
            control += sample.control
    assert longer >= 12
    assert control == 0


@pytest.mark.parametrize("board", BOARDS)
def test_samples_in_functions_that_wait_by_spinning_are_of_executions_that_spin(board: str) -> None:
    timed, known = run_on(board)
    samples, spins = (timed.parts[:, PARTS.index(name)] for name in ("samples", "spins"))
    spun = reasons_of(timed, known) == REASONS.index("spin")
    assert (2 * spins[spun] >= samples[spun]).mean() >= 0.95
    assert (samples[spun] > 0).mean() >= 0.95
    assert (spins[~spun] > 0).mean() <= 0.01
