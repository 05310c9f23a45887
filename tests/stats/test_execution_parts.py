"""Classes of executions that took longer, and their shares, by cases whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from whylate.stats.executions.parts import ExecutionClass, OwnCode, Times, classify

NAMES = ("interrupted", "preempted", "asleep", "waiting for a lock")
#: A duration and its parts, ns.
Row = tuple[int, tuple[int, ...]]


def times(rows: Sequence[Row], began_ns: Sequence[int] | None = None, parts: int = 4) -> Times:
    """Return executions, one a microsecond where nothing else is given."""
    began = range(0, 1000 * len(rows), 1000) if began_ns is None else began_ns
    return Times(
        np.array(list(began), np.int64),
        np.array([duration for duration, _ in rows], np.int64),
        np.array([list(spent) for _, spent in rows], np.int64).reshape(len(rows), parts),
    )


def classes(
    longer: Sequence[Row], others: Sequence[Row], names: Sequence[str] = NAMES
) -> dict[str, ExecutionClass]:
    made = classify(times(longer, None, len(names)), times(others, None, len(names)), names, 1)
    return {each.name: each for each in made}


def class_of(row: Row, others: Sequence[Row] = ((100, (0, 0, 0, 0)),)) -> str:
    (name,) = (name for name, each in classes([row], others).items() if each.count)
    return name


def test_own_code_is_divided_by_other_evidence_and_shares_still_sum_to_all() -> None:
    """The mean of the others is 100 ns of their own code."""
    others = [(90, (0, 0, 0, 0)), (110, (0, 0, 0, 0))] * 50
    longer = [(400, (0, 0, 0, 0)), (700, (0, 0, 0, 0)), (900, (0, 700, 0, 0))] * 50
    ran = times(longer), times(others)
    # Of what has a class by time nothing is divided.
    own_code = OwnCode(np.array([0, -1, 1] * 50, np.int8), ["instruction side", "data side"])
    found = {each.name: each for each in classify(*ran, NAMES, 1, own_code)}
    # The excess: 300 + 600 + 800 ns, of them 700 preempted.
    assert {name: each.share for name, each in found.items()} == pytest.approx(
        {"preempted": 700 / 1700, "unexplained": 700 / 1700, "instruction side": 300 / 1700}
    )
    assert {name: each.count for name, each in found.items()} == dict.fromkeys(found, 50)
    of_code = found["instruction side"]
    assert 0 < of_code.low < of_code.share < of_code.high < 1
    assert of_code.longest == 0
    undivided = {each.name: each for each in classify(*ran, NAMES, 1)}
    assert undivided["preempted"] == found["preempted"]
    assert undivided["unexplained"].share == pytest.approx(1000 / 1700)


def test_shares_are_those_of_the_excess_over_the_mean_of_the_others() -> None:
    # The mean of the others: 200 ns, of them 10 interrupted, 50 asleep and 140 of their own.
    others = [(100, (0, 0, 0, 0)), (300, (20, 0, 100, 0))]
    longer = [(1200, (10, 0, 1050, 0)), (900, (10, 600, 50, 0)), (800, (10, 0, 50, 600))]
    found = classes(longer, others)
    # The excess: 1000 + 700 + 600 ns, of them 1000 asleep, 600 preempted, 600 for a lock.
    assert {name: each.share for name, each in found.items()} == pytest.approx(
        {
            "asleep": 1000 / 2300,
            "preempted": 600 / 2300,
            "waiting for a lock": 600 / 2300,
            "unexplained": 100 / 2300,
        }
    )
    assert {name: each.count for name, each in found.items()} == {
        "asleep": 1,
        "preempted": 1,
        "waiting for a lock": 1,
        "unexplained": 0,
    }
    assert [each.longest for each in found.values()] == [0, 1, 2, -1]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # The excess is 200 ns.
        ((300, (200, 0, 0, 0)), "interrupted"),
        ((300, (0, 200, 0, 0)), "preempted"),
        ((300, (0, 0, 200, 0)), "asleep"),
        ((300, (0, 0, 0, 200)), "waiting for a lock"),
        ((300, (0, 0, 0, 0)), "unexplained"),
        # Half of it is enough, and one less is not.
        ((300, (0, 0, 100, 0)), "asleep"),
        ((300, (0, 0, 99, 0)), "unexplained"),
        ((300, (0, 50, 100, 50)), "asleep"),
        ((300, (0, 99, 99, 2)), "unexplained"),
        ((300, (67, 67, 66, 0)), "unexplained"),
        # Of two halves it is the first.
        ((300, (100, 0, 0, 100)), "interrupted"),
        ((300, (0, 0, 100, 100)), "asleep"),
    ],
)
def test_an_execution_is_of_the_part_that_has_half_of_its_excess(row: Row, expected: str) -> None:
    assert class_of(row) == expected


def test_what_the_others_do_as_well_is_no_reason() -> None:
    """All sleep 80 ns; the longer one computes longer."""
    others = [(100, (0, 0, 80, 0))] * 3
    assert class_of((300, (0, 0, 80, 0)), others) == "unexplained"
    assert class_of((300, (0, 0, 280, 0)), others) == "asleep"
    # It sleeps 300 of 500 ns, but of the excess of 400 ns that is 220, and 140 are preempted.
    assert class_of((500, (0, 140, 300, 0)), others) == "asleep"
    assert class_of((500, (0, 221, 259, 0)), others) == "preempted"


def test_a_part_that_longer_executions_have_less_of_has_a_negative_share() -> None:
    found = classes([(400, (300, 0, 0, 0))], [(100, (0, 0, 50, 0))])
    assert found["asleep"].share == pytest.approx(-50 / 300)
    assert found["interrupted"].share == pytest.approx(1)
    assert found["unexplained"].share == pytest.approx(50 / 300)
    assert list(found) == ["interrupted", "unexplained", "asleep"]


def test_the_longest_of_a_class_is_found_among_all_longer_ones() -> None:
    longer = [
        (900, (0, 0, 0, 0)),
        (300, (0, 0, 200, 0)),
        (500, (0, 0, 400, 0)),
        (400, (0, 0, 300, 0)),
    ]
    found = classes(longer, [(100, (0, 0, 0, 0))])
    assert (found["asleep"].count, found["asleep"].longest) == (3, 2)
    assert (found["unexplained"].count, found["unexplained"].longest) == (1, 0)


def test_there_is_no_class_without_a_longer_execution_or_without_another() -> None:
    row = [(100, (0, 0, 0, 0))]
    assert classes([], row) == {}
    assert classes(row, []) == {}
    assert classes([], []) == {}


def test_a_class_without_share_and_execution_is_left_out() -> None:
    assert list(classes([(300, (0, 0, 200, 0))], [(100, (0, 0, 0, 0))])) == ["asleep"]
    # An execution that is of it makes up for a small share.
    longer = [(1_000_000, (0, 0, 999_900, 0)), (201, (0, 101, 0, 0))]
    found = classes(longer, [(100, (0, 0, 0, 0))])
    assert found["preempted"].share < 0.0005
    assert found["preempted"].count == 1


@pytest.mark.parametrize(("names", "parts"), [(("asleep",), (200,)), (("interrupted",), (0,))])
def test_of_parts_that_are_not_observed_nothing_is_said(
    names: tuple[str, ...], parts: tuple[int, ...]
) -> None:
    found = classes([(300, parts)], [(100, (0,))], names)
    (name,) = found
    assert name == ("asleep" if parts[0] else "unexplained")
    assert found[name].share == pytest.approx(1)


def test_without_any_part_everything_is_unexplained() -> None:
    found = classes([(300, ()), (900, ())], [(100, ())], ())
    assert list(found) == ["unexplained"]
    assert found["unexplained"].share == pytest.approx(1)
    assert (found["unexplained"].count, found["unexplained"].longest) == (2, 1)


def test_an_interval_needs_longer_executions_in_five_blocks_of_time() -> None:
    others = [(100, (0, 0, 0, 0))] * 640
    began = range(0, 64_000, 100)
    for blocks in (4, 5):
        longer = times(
            [(300, (0, 0, 200, 0)), (300, (0, 0, 0, 0))] * blocks,
            [1000 * number + within for number in range(blocks) for within in (400, 500)],
        )
        found = classify(longer, times(others, began), NAMES, 1)
        assert {each.name for each in found} == {"asleep", "unexplained"}
        assert all(math.isnan(each.low) == math.isnan(each.high) == (blocks < 5) for each in found)


@st.composite
def rows(draw: st.DrawFn, least: int) -> list[Row]:
    spent = draw(st.lists(st.tuples(*[st.integers(0, 10_000)] * 4), min_size=1, max_size=9))
    return [(least + sum(parts) + draw(st.integers(0, 10_000)), parts) for parts in spent]


@settings(max_examples=60, deadline=None)
@given(longer=rows(60_000), others=rows(1))
def test_shares_sum_to_one_and_each_longer_execution_is_of_one_class(
    longer: list[Row], others: list[Row]
) -> None:
    found = classes(longer, others)
    # Four may be left out, each below 0.05 %.
    assert sum(each.share for each in found.values()) == pytest.approx(1, abs=0.002)
    assert sum(each.count for each in found.values()) == len(longer)
    assert all((each.longest >= 0) == (each.count > 0) for each in found.values())
    shares = [each.share for each in found.values()]
    assert shares == sorted(shares, reverse=True)


def drawn(rng: np.random.Generator) -> tuple[Times, Times]:
    """Return a run in which longer executions come in bursts, each for one reason.

    Seven bursts of ten are asleep: of an excess that is drawn alike in all of them.
    """
    bursts = 60
    sizes = rng.integers(1, 12, bursts)
    starts = rng.uniform(0, 1e9, bursts)
    sleeps = rng.random(bursts) < 0.7
    began: NDArray[np.int64] = (np.repeat(starts, sizes) + rng.uniform(0, 1e5, sizes.sum())).astype(
        np.int64
    )
    excess_ns = np.repeat(rng.exponential(50_000, bursts), sizes).astype(np.int64)
    parts = np.zeros((began.size, 4), np.int64)
    parts[:, 2] = np.where(np.repeat(sleeps, sizes), excess_ns, 0)
    parts[:, 1] = excess_ns - parts[:, 2]
    longer = Times(began, excess_ns + 1000, parts)
    usual = rng.integers(900, 1101, 2000)
    others = Times(rng.integers(0, 1_000_000_000, 2000), usual, np.zeros((usual.size, 4), np.int64))
    return longer, others


def test_intervals_cover_the_share_from_which_bursts_are_drawn() -> None:
    rng = np.random.default_rng(20)
    covered = 0
    for seed in range(200):
        found = {each.name: each for each in classify(*drawn(rng), NAMES, seed)}
        assert found["asleep"].low < found["asleep"].high
        covered += found["asleep"].low <= 0.7 <= found["asleep"].high
    assert covered >= 0.85 * 200
