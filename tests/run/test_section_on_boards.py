"""Sections timed on boards that know their own executions: see executions.c."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from section_rig import Known, Timed, time_sections

from own_boards import own_boards
from whylate.recording.workloads.section import AnyPlace, KernelFunction, KernelPlaces, Section
from whylate.wire.constants import SectionHook

pytestmark = pytest.mark.qemu

MS = 1_000_000
#: Executions of one owner that are kept within each other.
DEEPEST = 8
#: From a hook's reading of the clock to the function's own, at most: a tick may lie between.
NEAR_NS = 100_000
#: Behind the last row: entries of the same nest that have no row. Less than a period.
NEST_NS = 500_000
#: What the hooks add to a duration on these boards, at most.
HOOKS_NS = 4_000
#: Entries are timed until the probe looks at the clock the next time.
LOOK_NS = 60 * MS
#: A kind, and how it is timed: by which hook, or by the best one of the module's own function.
Hook = Literal["fentry", "kprobe-multi", "kprobe", "tracefs", "best"]
TRACED = ("fixed", "nested", "sleeps", "exits", "crossed", "two", "many")
#: The lab's kernel for pc is of lab/kernels/preemptirq.config, and not Debian's.
HAS_FPROBES = os.environ.get("WHYLATE_TEST_FPROBES") == "1"
MULTI = ("fixed", "nested", "sleeps", "exits", "two", "many", "crossed") if HAS_FPROBES else ()
CASES: dict[str, list[tuple[Hook, str]]] = {
    "pc": [
        *(("fentry", kind) for kind in ("fixed", "nested", "sleeps", "exits", "crossed", "two")),
        *(("kprobe-multi", kind) for kind in MULTI),
        *(("kprobe", kind) for kind in ("fixed", "nested", "exits", "crossed", "many")),
        *(("tracefs", kind) for kind in TRACED),
        ("best", "fixed"),
        ("best", "marked"),
        ("tracefs", "marked"),
    ],
    "virt-arm64": [
        *(("kprobe", kind) for kind in ("fixed", "nested", "sleeps", "crossed", "many")),
        ("best", "two"),
        ("best", "marked"),
    ],
    # Without BTF.
    "sabrelite": [
        *(("tracefs", kind) for kind in ("fixed", "nested", "exits", "many")),
        ("best", "fixed"),
        ("best", "marked"),
    ],
}  # fmt: skip
ALL = [(board, hook, kind) for board, cases in CASES.items() for hook, kind in cases]


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards(*CASES):
        yield


def place_of(kind: str, hook: Hook) -> AnyPlace:
    if kind == "marked":
        assert hook != "fentry"
        assert hook != "kprobe-multi"
        return KernelPlaces(begin="executions_begin", end="executions_end", hook=hook)
    if hook == "best":
        return KernelFunction("executions_act", hook)
    return KernelFunction("srcu_notifier_call_chain", hook)


@cache
def timed_on(board: str) -> dict[tuple[str, str], tuple[Timed, Known]]:
    """Return what came of all cases of a board, which is booted once for them."""
    sections = [
        (
            kind,
            Section(
                duration_ns=(800 if kind == "crossed" else 120) * MS,
                place=place_of(kind, hook),
                comm=kind,
                one_in=1,
            ),
        )
        for hook, kind in CASES[board]
    ]
    return dict(zip(CASES[board], time_sections(board, sections), strict=True))


def cases(*kinds: str) -> pytest.MarkDecorator:
    """Return the cases of these kinds, or all."""
    chosen = [case for case in ALL if case[2] in kinds or not kinds]
    return pytest.mark.parametrize("case", chosen, ids="-".join)


def of(case: tuple[str, str, str]) -> tuple[Timed, Known]:
    board, *section = case
    return timed_on(board)[section[0], section[1]]


def begun(timed: Timed, known: Known) -> NDArray[np.bool_]:
    """Return which executions began while entries were timed, by the rows at both ends."""
    begin_ns = min(timed.start_ns, *timed.begin_ns[:1])
    return known.between(begin_ns, max(timed.end_ns, *(timed.begin_ns[-1:] + NEST_NS)))


def matched(timed: Timed, known: Known) -> NDArray[np.int64]:
    """Return which execution each row is: the next of that thread that began."""
    found = np.full(timed.pid.size, -1)
    for pid in np.unique(timed.pid):
        rows, events = np.flatnonzero(timed.pid == pid), np.flatnonzero(known.pid == pid)
        at = np.searchsorted(known.begin_ns[events], timed.begin_ns[rows])
        assert (at < events.size).all()
        found[rows] = events[at]
    # Another thread may have the CPU between a hook and the function's own reading; of many threads
    # that wake at a time some do.
    near = known.begin_ns[found] - timed.begin_ns < NEAR_NS
    assert near.mean() >= (0.99 if np.unique(timed.pid).size < 10 else 0.9)
    assert np.unique(found).size == found.size
    return found


def depth_of(known: Known, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return within how many of the executions that are counted each began; of one thread."""
    ends: list[int] = []
    depth = []
    for begin_ns, end_ns, counts in zip(
        known.begin_ns.tolist(), known.end_ns.tolist(), counted.tolist(), strict=True
    ):
        ends = [end for end in ends if end > begin_ns]
        depth.append(len(ends))
        ends += [end_ns] if counts else []
    return np.array(depth, np.int64)


@cases()
def test_every_entry_is_accounted_for_and_every_return_has_a_row(
    case: tuple[str, str, str],
) -> None:
    timed, known = of(case)
    assert timed.closes
    least = known.between(timed.start_ns, timed.end_ns).sum()
    most = known.between(timed.start_ns, timed.end_ns + LOOK_NS).sum()
    assert 0 < timed.account.entries <= most
    if case[2] != "crossed":
        assert least <= timed.account.entries
        assert timed.account.missed == 0
    assert timed.account.no_room == timed.dropped == 0


@cases()
def test_the_hook_is_the_one_that_was_asked_for(case: tuple[str, str, str]) -> None:
    board, hook, kind = case
    # A module has no BTF there: for its functions the best hook is a kprobe, or a fprobe. At a
    # return the registers of 32-bit ARM do not tell the place on the stack.
    if hook == "tracefs" or (board == "sabrelite" and kind != "marked"):
        expected = SectionHook.KPROBE_EVENT
    elif hook == "best":
        is_multi = HAS_FPROBES and board == "pc" and kind != "marked"
        expected = SectionHook.KPROBE_MULTI if is_multi else SectionHook.KPROBE
    else:
        expected = SectionHook[hook.upper().replace("-", "_")]
    assert of(case)[0].started.hook == expected


@cases("fixed", "nested", "sleeps", "two", "many", "marked")
def test_a_duration_is_what_the_function_says_itself(case: tuple[str, str, str]) -> None:
    timed, known = of(case)
    event = matched(timed, known)
    assert known.returned[event].all()
    length_ns = known.end_ns[event] - known.begin_ns[event]
    more_ns = timed.duration_ns - length_ns
    floor_ns = np.median(more_ns)
    assert 0 < floor_ns < HOOKS_NS
    right = np.abs(more_ns - floor_ns) <= np.maximum(100, 0.02 * length_ns)
    # A tick may lie between a hook and the function's own reading, and another of many threads.
    assert right.mean() >= (0.9 if case[2] == "many" else 0.99)


@cases("fixed", "sleeps", "two", "marked")
def test_each_execution_that_the_function_logged_is_there(case: tuple[str, str, str]) -> None:
    timed, known = of(case)
    account = timed.account
    assert account.entries == account.returned >= 100
    events = np.flatnonzero(begun(timed, known))
    # Entries may end to be timed between the last one and that of the other CPU.
    later = events.size - account.entries
    assert 0 <= later <= (case[2] == "two")
    assert np.isin(events[: account.entries], matched(timed, known)).all()


@cases("nested")
def test_each_of_nested_executions_has_its_own_duration_and_eight_are_kept(
    case: tuple[str, str, str],
) -> None:
    timed, known = of(case)
    inside = begun(timed, known)
    # Entries may end to be timed within a nest, which has up to 12.
    later = inside.sum() - timed.account.entries
    assert 0 <= later < 12
    inside[np.flatnonzero(inside)[timed.account.entries :]] = False
    depth = depth_of(known, inside)
    assert timed.account.too_deep == (inside & (depth >= DEEPEST)).sum() > 0
    # Where entries are timed from within a nest on, the kernel has no room to watch for the returns
    # of its innermost two: 10 of 12.
    began_within = depth_of(known, np.ones_like(inside))[np.flatnonzero(inside)[0]] > 0
    assert timed.account.left <= (
        2 if began_within and case[1] not in ("fentry", "kprobe-multi") else 0
    )
    assert timed.account.in_flight == 0
    event = matched(timed, known)
    assert set(depth[event]) == set(range(DEEPEST))
    for outer, inner in zip(range(timed.pid.size), range(1, timed.pid.size), strict=False):
        if depth[event[inner]]:
            end_ns = timed.begin_ns + timed.duration_ns
            assert end_ns[inner] < end_ns[outer]


@cases("sleeps")
def test_an_execution_that_ends_on_another_cpu_is_marked(case: tuple[str, str, str]) -> None:
    timed, known = of(case)
    event = matched(timed, known)
    assert (timed.begin_cpu == known.begin_cpu[event]).all()
    assert (timed.end_cpu == known.end_cpu[event]).all()
    assert (timed.has_moved == (timed.begin_cpu != timed.end_cpu)).all()
    assert 0.4 < timed.has_moved.mean() < 0.6


@cases("two")
def test_two_threads_at_once_are_two(case: tuple[str, str, str]) -> None:
    timed, _ = of(case)
    first, second = np.unique(timed.pid)
    assert set(timed.begin_cpu[timed.pid == first]) == {0}
    assert set(timed.begin_cpu[timed.pid == second]) == {1}


@cases("exits")
def test_what_threads_that_end_within_have_begun_is_left(case: tuple[str, str, str]) -> None:
    account = of(case)[0].account
    assert account.entries == account.left > 50
    assert account.returned == account.in_flight == account.unmatched == 0


@cases("many")
def test_returns_that_the_kernel_has_no_room_for_are_counted(case: tuple[str, str, str]) -> None:
    """A kretprobe has 10 returns at a time on two CPUs, and 40 threads sleep in the function.

    Kprobe events ask for more, and fprobes get more, so that none is without.
    """
    timed, known = of(case)
    account = timed.account
    if timed.started.hook != SectionHook.KPROBE:
        assert account.entries == account.returned >= 40
        # Those of all threads begin at once, and entries may end to be timed among them.
        assert 0 <= begun(timed, known).sum() - account.entries < 40
        return
    assert account.returned >= 10
    assert account.left + account.in_flight == account.entries - account.returned > 0


@cases("crossed")
def test_an_interrupt_at_any_point_of_a_hook_makes_no_execution_longer(
    case: tuple[str, str, str],
) -> None:
    timed, known = of(case)
    longest = (known.end_ns - known.begin_ns).max()
    assert timed.duration_ns.max() < longest + 2 * NEAR_NS
    assert timed.duration_ns.min() > (known.end_ns - known.begin_ns)[known.returned].min()
    account, made = timed.account, begun(timed, known).sum()
    assert account.entries > 0.75 * made
    # A kprobe within a kprobe is not run, nor a fprobe, and Linux 6.1 counts it for tracefs alone.
    if case[1] in ("fentry", "tracefs"):
        assert account.entries + account.missed >= made
        assert account.missed > 0


@cases()
def test_a_run_says_where_the_kernel_counts_no_hook_that_it_did_not_run(
    case: tuple[str, str, str],
) -> None:
    timed = of(case)[0]
    hook = SectionHook(timed.started.hook)
    assert any("the kernel does not count it" in note for note in timed.notes) == (
        hook in (SectionHook.KPROBE, SectionHook.KPROBE_MULTI)
    )
