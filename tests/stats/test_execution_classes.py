"""The class of an execution rests on evidence in its own counters; without it there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whylate.stats.executions.classes import CLASSES, Typical, classify_executions

#: Published: five executions of do_local_timer() between two marks.
CYCLES = [31945, 31642, 31310, 31909, 33012]
STALLS = [22343, 23329, 23214, 23594, 24425]
INSTRUCTIONS = [2865, 2847, 2863, 2863, 2863]
TYPICAL = Typical(instructions=2850, stalls=12_000)


def classes(
    cycles: list[float], instructions: list[float], stalls: list[float], typical: Typical | None
) -> list[str]:
    x, y, z = (np.array(values, np.float64) for values in (cycles, instructions, stalls))
    return [CLASSES[number].value for number in classify_executions(x, y, z, typical)]


def class_of(cycles: float, instructions: float, stalls: float, typical: Typical = TYPICAL) -> str:
    (name,) = classes([cycles], [instructions], [stalls], typical)
    return name


def test_the_published_executions_are_of_the_instruction_side() -> None:
    found = classes(list(CYCLES), list(INSTRUCTIONS), list(STALLS), None)
    assert found == ["instruction side"] * 5


def test_an_execution_that_spins_is_classed_by_the_median_of_the_others() -> None:
    # The published peak of instructions, 2.9 times the typical, at 1.2 times its stalls.
    cycles, instructions = [20_000.0] * 9 + [45_000.0], [2850.0] * 9 + [2.9 * 2850]
    found = classes(cycles, instructions, [12_000.0] * 9 + [1.2 * 12_000], None)
    assert found == ["instruction side"] * 9 + ["spinning"]


@pytest.mark.parametrize(
    ("cycles", "instructions", "stalls", "expected"),
    [
        (24_100, 2850, 12_051, "instruction side"),
        # Half of the cycles are not most of them.
        (24_000, 2850, 12_000, "unexplained"),
        (24_000, 2850, 24_000, "instruction side"),
        # More stalls than cycles were counted in another way.
        (24_000, 2850, 24_001, "unexplained"),
        (40_000, 3135, 30_000, "instruction side"),
        (40_000, 1.101 * 2850, 30_000, "unexplained"),
        (40_000, 0.9 * 2850, 30_000, "instruction side"),
        (40_000, 0.89 * 2850, 30_000, "unexplained"),
        (40_000, 1.25 * 2850, 12_000, "spinning"),
        (40_000, 1.249 * 2850, 12_000, "unexplained"),
        (40_000, 3 * 2850, 15_000, "spinning"),
        # Instructions and stalls are both up: neither alone has the cycles.
        (40_000, 3 * 2850, 15_001, "unexplained"),
        (40_000, 3 * 2850, 8_999, "unexplained"),
        (40_000, 3 * 2850, 30_000, "unexplained"),
        # Cycles are up alone: the data side, steal, firmware.
        (90_000, 2850, 12_000, "unexplained"),
        (0, 0, 0, "unexplained"),
    ],
)
def test_each_margin_is_as_stated(
    cycles: float, instructions: float, stalls: float, expected: str
) -> None:
    assert class_of(cycles, instructions, stalls) == expected


@pytest.mark.parametrize(
    ("instructions", "stalls", "data_stalls", "expected"),
    [
        (2850, 12_000, 45_001, "data side"),
        (2850, 15_000, 60_000, "data side"),
        (2850, 9_000, 60_000, "data side"),
        (3135, 12_000, 90_000, "data side"),
        # Half of the cycles are not most of them, and more than all were counted otherwise.
        (2850, 12_000, 45_000, "unexplained"),
        (2850, 12_000, 90_001, "unexplained"),
        # It did something else, or waited for code as well.
        (3136, 12_000, 60_000, "unexplained"),
        (2850, 17_000, 60_000, "unexplained"),
        (2850, 46_000, 60_000, "unexplained"),
        (2850, 46_000, 12_000, "instruction side"),
        (3 * 2850, 12_000, 12_000, "spinning"),
    ],
)
def test_the_data_side_takes_stalls_of_its_own_and_none_more_of_the_other(
    instructions: float, stalls: float, data_stalls: float, expected: str
) -> None:
    counted = (np.array([value]) for value in (90_000.0, instructions, stalls, data_stalls))
    cycles, up, of_code, of_data = counted
    (number,) = classify_executions(cycles, up, of_code, TYPICAL, None, of_data)
    assert CLASSES[number] == expected


def test_few_stalls_are_flat_by_their_part_of_the_cycles() -> None:
    typical = Typical(instructions=2850, stalls=0)
    assert class_of(10_000, 8000, 500, typical) == "spinning"
    assert class_of(10_000, 8000, 501, typical) == "unexplained"


def test_where_no_instructions_are_typical_none_are_not_up() -> None:
    assert class_of(100, 0, 0, Typical(0, 0)) == "unexplained"
    assert class_of(100, 1, 0, Typical(0, 0)) == "spinning"


def test_without_others_nothing_is_typical() -> None:
    with pytest.raises(ValueError, match="takes 3 executions"):
        classes([9.0, 9.0], [5.0, 5.0], [8.0, 8.0], None)
    assert classes([9.0, 9.0], [5.0, 5.0], [8.0, 8.0], Typical(5, 8)) == ["instruction side"] * 2


@given(st.lists(st.tuples(*[st.integers(0, 2**53)] * 3), min_size=3, max_size=30))
def test_twice_the_counts_are_of_the_same_class(rows: list[tuple[int, ...]]) -> None:
    cycles, instructions, stalls = ([float(row[at]) for row in rows] for at in range(3))
    before = classes(cycles, instructions, stalls, None)
    assert len(before) == len(rows)
    cycles, instructions, stalls = (
        [2 * value for value in column] for column in (cycles, instructions, stalls)
    )
    assert classes(cycles, instructions, stalls, None) == before


@pytest.mark.parametrize(
    ("times", "cycles", "instructions", "stalls", "expected"),
    [
        # Three times as long: cycles have to rise to twice the typical 20,000.
        (3.0, 40_000, 2850, 32_000, "instruction side"),
        (3.0, 39_999, 2850, 32_000, "unexplained"),
        # Time that a hypervisor took, and a slower clock, leave the counters as they were.
        (3.0, 20_000, 2850, 12_000, "unexplained"),
        # Of 40,000 cycles more, stalls must have more than half.
        (3.0, 60_000, 2850, 32_001, "instruction side"),
        (3.0, 60_000, 2850, 32_000, "unexplained"),
        (3.0, 40_000, 2 * 2850, 12_000, "spinning"),
        (3.0, 39_999, 2 * 2850, 12_000, "unexplained"),
    ],
)
def test_of_an_execution_that_took_longer_the_counters_have_risen_as_well(
    times: float, cycles: float, instructions: float, stalls: float, expected: str
) -> None:
    (number,) = classify_executions(
        np.array([cycles]),
        np.array([instructions]),
        np.array([stalls]),
        Typical(2850, 12_000, 20_000),
        np.array([times]),
    )
    assert CLASSES[number] == expected
