"""Why executions took longer, by their counters: after what their times already say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from whylate.recording.sections import CountAccount, SectionReport
from whylate.recording.store.executions import ExecutionFile, Executions
from whylate.summary.executions import Counted, row_text
from whylate.summary.model import SectionCounters
from whylate.summary.own_code import ByTime, classify_own_code
from whylate.summary.section_counters import NOT_CLASSED, count_section, section_counters
from whylate.wire.app_samples import PARTS
from whylate.wire.executions import NO_COUNT

EVENTS = ("cycles", "instructions", "icache-stall")
TYPICAL = (1_000, 2_000, 100)
STALLED = (9_000, 2_010, 7_000)
SPUN = (9_000, 18_000, 110)
NONE = (NO_COUNT,) * 3
START_NS = -5_000_000


def executions(
    *rows: tuple[int, ...], duration_ns: int = 1_000, seen: tuple[int, int] = (0, 0)
) -> Executions:
    n = len(rows)
    zeros = np.zeros(n, np.int64)
    parts = np.zeros((n, len(PARTS)), np.int64)
    parts[:, PARTS.index("samples")], parts[:, PARTS.index("spins")] = seen
    counts = np.array(rows, np.int64).reshape(n, 3)
    return Executions(
        cpu=zeros, number=np.arange(n), began_ns=np.arange(n) * 1_000_000,
        duration_ns=np.full(n, duration_ns), pid=zeros + 301, parts=parts,
        counts=counts,
    )  # fmt: skip


def counted(
    longer: Executions,
    own: list[bool],
    others: Executions,
    of_others: int | None = None,
    events: tuple[str, ...] = EVENTS,
    *,
    is_sampled: bool = False,
) -> Counted | None:
    of_others = others.duration_ns.size if of_others is None else of_others
    classes = by_time(own, is_sampled=is_sampled)
    own_code = classify_own_code(events, longer, others, classes)
    return count_section(events, longer, others, of_others, classes, own_code, 1)


def by_time(own: list[bool], *, is_sampled: bool = False) -> ByTime:
    """Return classes of which those of no class by time are in own."""
    return ByTime(np.array(own, np.int64), ("asleep",), START_NS, is_sampled)


def summarized(of: Counted | None, events: tuple[str, ...] = EVENTS) -> SectionCounters:
    report = SectionReport(hook="fentry", one_in=1, tried_ns=1, tried=1, counts=CountAccount(9))
    found = section_counters(report, ExecutionFile(Path("r"), events), of)
    assert found is not None
    return found


def classes_of(found: Counted | None) -> list[str]:
    assert found is not None
    assert found.classes is not None
    codes: NDArray[np.int8] = found.classes
    return [found.class_names[code] for code in codes.tolist()]


def test_longer_executions_are_classed_against_those_that_took_no_longer() -> None:
    longer = executions(STALLED, SPUN, (9_000, 2_000, 100), duration_ns=9_000)
    found = counted(longer, [True] * 3, executions(*[TYPICAL] * 3))
    assert classes_of(found) == [
        "instruction side", "spinning", "unexplained", *[NOT_CLASSED] * 3
    ]  # fmt: skip
    assert summarized(found).classes == {"instruction side": 1, "spinning": 1, "unexplained": 1}


def test_most_executions_may_be_longer_for_one_reason() -> None:
    """The typical execution is one that took no longer, however few there are."""
    longer = executions(*[SPUN] * 9, duration_ns=9_000)
    found = counted(longer, [True] * 9, executions(*[TYPICAL] * 3))
    assert classes_of(found)[:9] == ["spinning"] * 9


def test_an_execution_with_a_class_by_time_has_none_by_counters() -> None:
    longer = executions(SPUN, SPUN, duration_ns=9_000)
    found = counted(longer, [False, True], executions(*[TYPICAL] * 3))
    assert classes_of(found)[:2] == [NOT_CLASSED, "spinning"]


def test_executions_without_counts_are_left_out() -> None:
    longer = executions(NONE, SPUN, duration_ns=9_000)
    found = counted(longer, [True, True], executions(TYPICAL, NONE, TYPICAL, TYPICAL))
    assert found is not None
    assert found.n == 4
    assert classes_of(found) == ["spinning", *[NOT_CLASSED] * 3]
    figures = {row.name: row for row in summarized(found).counters}
    assert (figures["cycles"].smallest, figures["cycles"].largest) == (1_000, 9_000)
    assert (figures["cycles"].n, figures["cycles"].median) == (4, 1_000)


def test_classes_take_events_of_three_kinds_and_others_with_counts() -> None:
    longer, few = executions(SPUN, duration_ns=9_000), executions(TYPICAL, TYPICAL, NONE)
    found = counted(longer, [True], few)
    assert found is not None
    assert found.classes is None
    assert "take 3 executions" in str(summarized(found).no_classes)
    events = ("cycles", "page-faults", "context-switches")
    found = counted(longer, [True], executions(*[TYPICAL] * 3), events=events)
    assert "none of instructions and of stalls" in str(summarized(found, events).no_classes)


def test_cycles_are_fitted_to_each_other_counter_and_without_them_the_duration() -> None:
    rows = [(1_000 + 3 * n, 500 + n, 100) for n in range(5)]
    found = counted(executions(), [], executions(*rows))
    instructions, stalls = summarized(found).fits
    assert (instructions.y, instructions.x) == ("cycles", "instructions")
    assert instructions.slope is not None
    assert round(instructions.slope, 9) == 3
    assert stalls.refused == "all x are equal"
    events = ("page-faults", "context-switches", "cpu-clock")
    found = counted(executions(), [], executions(*rows), events=events)
    assert [fit.y for fit in summarized(found, events).fits] == ["duration_ns"] * 3


def test_as_large_a_share_of_longer_executions_is_drawn_as_of_the_others() -> None:
    longer = executions(*[SPUN] * 400, duration_ns=9_000)
    found = counted(longer, [True] * 400, executions(*[TYPICAL] * 500), of_others=1_000)
    assert found is not None
    assert 150 < found.n - 500 < 250


def test_where_nothing_was_counted_that_is_said() -> None:
    none = counted(executions(NONE), [True], executions(NONE))
    assert none is None
    found = summarized(none)
    assert (found.own, found.counters, found.no_classes) == (9, [], "no execution has counts")


def test_time_that_a_hypervisor_took_is_no_class_of_the_instruction_side() -> None:
    """Nine times as long by the counters of a typical execution, whose stalls are most cycles."""
    typical = (1_000, 2_000, 700)
    longer = executions(typical, (9_000, 2_000, 7_000), duration_ns=9_000)
    found = counted(longer, [True] * 2, executions(*[typical] * 3))
    assert classes_of(found)[:2] == ["unexplained", "instruction side"]


def test_each_execution_has_a_kind_a_time_and_a_thread() -> None:
    longer = executions(SPUN, SPUN, (9_000, 2_000, 100), duration_ns=9_000)
    found = counted(longer, [False, True, True], executions(*[TYPICAL] * 3))
    assert found is not None
    assert found.kinds is not None
    kinds: list[int] = found.kinds.tolist()
    assert [found.kind_names[kind] for kind in kinds] == [
        "asleep", "spinning", "unexplained", *["not longer"] * 3
    ]  # fmt: skip
    assert row_text(found, 1) == (
        "execution 1 that ended on CPU 0, began after 0.006 s in thread 301"
    )


def test_without_counters_of_three_kinds_kinds_are_by_time() -> None:
    events = ("cycles", "page-faults", "context-switches")
    found = counted(executions(SPUN, SPUN), [False, True], executions(TYPICAL), events=events)
    assert found is not None
    assert found.classes is None
    assert found.kinds is not None
    kinds: list[int] = found.kinds.tolist()
    assert [found.kind_names[kind] for kind in kinds] == ["asleep", "unexplained", "not longer"]


#: It did as much more as it took more cycles, and more than it took instructions.
MORE = (9_000, 18_000, 900)
SLOWER = (9_000, 4_000, 900)


@pytest.mark.parametrize(
    ("row", "seen", "name"),
    [
        (MORE, (4, 0), "more work"),
        (MORE, (3, 0), "more work"),
        # Those that spin for half of the time are mostly seen there, and not always.
        (MORE, (2, 0), "unexplained"),
        (MORE, (4, 1), "unexplained"),
        (MORE, (4, 2), "spinning"),
        # Where it waits for an event few instructions come.
        (SLOWER, (4, 4), "spinning"),
        (SLOWER, (4, 0), "unexplained"),
        ((9_000, 2_100, 100), (4, 0), "unexplained"),
        # The clock stood still for it, or a host had its CPU.
        ((1_100, 2_100, 100), (4, 4), "unexplained"),
        # Without a sample there is no evidence of either.
        (MORE, (0, 0), "unexplained"),
        (STALLED, (4, 0), "instruction side"),
    ],
)
@pytest.mark.parametrize("has_stalls", [True, False])
def test_samples_tell_spinning_from_more_work(
    row: tuple[int, ...], seen: tuple[int, int], name: str, *, has_stalls: bool
) -> None:
    longer = executions(row, duration_ns=9_000, seen=seen)
    events = EVENTS if has_stalls else (*EVENTS[:2], "page-faults")
    others = executions(*[TYPICAL] * 3)
    found = counted(longer, [True], others, events=events, is_sampled=True)
    expected = "unexplained" if name == "instruction side" and not has_stalls else name
    assert classes_of(found)[0] == expected
    figures = summarized(found, events)
    assert figures.no_classes is None
    assert list(figures.classes or {}) == [
        "instruction side", "spinning", "more work", "unexplained"
    ]  # fmt: skip
    assert sum((figures.classes or {}).values()) == 1


def test_samples_change_nothing_where_it_was_not_looked() -> None:
    longer = executions(SPUN, duration_ns=9_000, seen=(4, 0))
    found = counted(longer, [True], executions(*[TYPICAL] * 3))
    assert classes_of(found)[0] == "spinning"
    assert "more work" not in (summarized(found).classes or {})
