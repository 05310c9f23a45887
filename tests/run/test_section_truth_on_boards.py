"""Waits and instructions of executions, on boards whose module logs its own: see executions.c."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from section_rig import Known, Timed, time_sections

from own_boards import own_boards
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.wire.app_samples import PARTS
from whylate.wire.constants import SectionHook

pytestmark = pytest.mark.qemu

MS = 1_000_000
BOARDS = {"pc": SectionHook.FENTRY, "virt-arm64": SectionHook.KPROBE}
#: Whether Debian's kernel has CONFIG_KALLSYMS_ALL.
LISTS_OBJECTS = {"pc": True, "virt-arm64": False}
#: Only there it is counted.
COUNTS = "virt-arm64"
#: A round of the loop of kind counted; what an instruction takes there; the steps of the clock.
ROUND, INSTRUCTION_NS, STEP_NS = 2, 2, 16
WAITS = Section(
    duration_ns=200 * MS, place=KernelFunction("srcu_notifier_call_chain"), comm="waits", one_in=1
)
#: Taking the callers takes a part of the wait: for the names alone.
LOCKS = msgspec.structs.replace(WAITS, duration_ns=40 * MS, locks=True)
COUNTED = Section(
    duration_ns=100 * MS,
    place=KernelFunction("executions_counted"),
    comm="counted",
    one_in=1,
    counters=[CounterPlan("instructions")],
)


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards(*BOARDS):
        yield


@cache
def runs_on(board: str) -> list[tuple[Timed, Known]]:
    """Return what came of the kind waits, twice, and, where it is counted, of counted."""
    sections = [("waits", WAITS), ("waits", LOCKS), ("counted", COUNTED)]
    return time_sections(board, sections if board == COUNTS else sections[:2])


def waits_on(
    board: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return rows of kind waits: what was logged, what was seen, interrupts, whether it was within.

    Each in ns but the last, shape (n,). In an execution that waits nothing else is long. Interrupts
    of the execution are no part of the wait that was seen, but of the one that was logged, unless
    they came before it or after it.
    """
    timed, known = runs_on(board)[0]
    assert timed.closes
    assert timed.started.hook == BOARDS[board]
    at = np.searchsorted(known.begin_ns, timed.begin_ns)
    assert (known.begin_ns[at] < timed.begin_ns + timed.duration_ns).all()
    lock_ns, interrupted_ns = (
        timed.parts[:, PARTS.index(name)] for name in ("lock_ns", "interrupted_ns")
    )
    is_within = known.wait_begin_ns[at] >= known.begin_ns[at]
    assert (lock_ns[is_within] > 0).all()
    logged_ns = known.wait_end_ns[at] - known.wait_begin_ns[at]
    return logged_ns, lock_ns, interrupted_ns, is_within


@pytest.mark.parametrize("board", BOARDS)
def test_a_wait_for_a_lock_is_as_long_as_its_own_log(board: str) -> None:
    logged_ns, seen_ns, interrupted_ns, is_within = waits_on(board)
    logged_ns, seen_ns = logged_ns[is_within], seen_ns[is_within]
    interrupted_ns = interrupted_ns[is_within]
    assert logged_ns.size >= 40
    # Of these the wait is what was seen, and nothing else.
    assert (interrupted_ns == 0).sum() >= 10
    apart = np.abs(np.clip(logged_ns, seen_ns, seen_ns + interrupted_ns) / logged_ns - 1)
    sys.stdout.write(
        f"{board}: {logged_ns.size} waits of {logged_ns.min():,} to {logged_ns.max():,} ns, apart: "
        f"median {np.median(apart):.2%}, most {apart.max():.2%}; their sums: "
        f"{abs(1 - (seen_ns + interrupted_ns).sum() / logged_ns.sum()):.2%}; "
        f"{(interrupted_ns > 0).sum()} interrupted\n"
    )
    # By the length that the holder was told: a quarter of the longest, to all of it.
    assert logged_ns.max() > 3 * logged_ns.min()
    assert (apart <= 0.02).all()
    assert (seen_ns + interrupted_ns).sum() == pytest.approx(logged_ns.sum(), rel=0.02)


@pytest.mark.parametrize("board", BOARDS)
def test_a_lock_has_its_own_name_or_none(board: str) -> None:
    """arm64's kernel lists functions alone: the nearest of them has nothing to do with a lock."""
    names = {lock.name for lock in runs_on(board)[1][0].locks if lock.lock}
    assert names == ({"held+0x0 [executions]"} if LISTS_OBJECTS[board] else {""})


@pytest.mark.parametrize("board", BOARDS)
def test_waits_of_the_same_thread_for_the_same_lock_outside_are_not_counted(board: str) -> None:
    logged_ns, seen_ns, _, is_within = waits_on(board)
    assert (~is_within).sum() >= 40
    # They are as long as the others, but for what hooks take.
    assert np.median(logged_ns[~is_within]) > 0.7 * np.median(logged_ns[is_within])
    assert not seen_ns[~is_within].any()


def test_a_loop_has_its_instructions_and_those_of_an_empty_section() -> None:
    timed, known = runs_on(COUNTS)[2]
    assert timed.closes
    assert timed.started.hook == SectionHook.KPROBE
    assert timed.pid.size >= 90
    # The function is called within the execution that is logged.
    rounds = known.rounds[np.searchsorted(known.begin_ns, timed.begin_ns) - 1]
    assert np.unique(rounds).size == 10
    (hooks,) = timed.hook_counts
    own = timed.counts[:, 0] - hooks
    apart = own - ROUND * rounds
    # An interrupt has instructions of its own, and comes every few ms.
    is_interrupted = timed.parts[:, PARTS.index("interrupted_ns")] > 0
    assert is_interrupted.mean() < 0.1
    assert (apart[is_interrupted] > 0).all()
    sys.stdout.write(
        f"{COUNTS}: {own.size} loops of {ROUND * rounds.min()} to {ROUND * rounds.max()} "
        f"instructions, apart {apart.min()} to {apart.max()} after {hooks} of the hooks; "
        f"{is_interrupted.sum()} interrupted\n"
    )
    assert (apart[~is_interrupted] == 0).all()
    beyond_ns = (timed.duration_ns - INSTRUCTION_NS * ROUND * rounds)[~is_interrupted]
    assert (np.abs(beyond_ns - np.median(beyond_ns)) <= STEP_NS).mean() >= 0.99
