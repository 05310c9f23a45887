"""For when the interrupt of a sample was due, by the times of the samples alone.

The timer is played as the kernel moves it (hrtimer_forward_now() behind each interrupt), so that it
is known when each was due.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from c_programs import compile_c

PERIOD_NS = 53_000
#: Samples that find the grid.
FIRST = 64
#: From its interrupt to a sample where nothing delays it, and to where the timer is moved on.
EARLIEST_NS, LATEST_NS, HANDLING_NS = 900, 2_500, 3_000

#: The lines of samples, and when each was due.
Played = tuple[list[str], list[int], list[int]]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c("cc", "grid_driver", ["sampled/grid.c"], tmp_path_factory.mktemp("grid"), [])


def play(
    count: int,
    delay_ns: Callable[[random.Random], int],
    idle_part: float = 0.0,
    slower_first_ns: int = 0,
) -> Played:
    """Play so many interrupts, each delayed for a time; some while the idle thread has the CPU.

    slower_first_ns: by so much those are later by which the grid is found.
    """
    source = random.Random(7)
    due_ns = 10**12 + 12_345
    lines: list[str] = []
    due: list[int] = []
    times: list[int] = []
    while len(due) < count:
        came_ns = due_ns + delay_ns(source) * (len(due) > FIRST)
        came_ns += slower_first_ns * (len(due) < FIRST)
        came_ns += source.randrange(EARLIEST_NS, LATEST_NS)
        if source.random() < idle_part:
            # It has no sample. The idle thread goes on for a moment.
            lines.append(f"idle {came_ns + source.randrange(2_000)}")
        else:
            lines.append(f"sample {came_ns}")
            due.append(due_ns)
            times.append(came_ns)
        handled_ns = came_ns + HANDLING_NS
        while due_ns <= handled_ns:
            due_ns += PERIOD_NS
    return lines, due, times


def answers(driver: Path, lines: list[str]) -> list[str]:
    done = subprocess.run([driver, str(PERIOD_NS)], input="\n".join(lines), capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout.split()


def late_by(driver: Path, played: Played) -> list[tuple[int, int]]:
    """Return of each sample how late it was, and how late it seems: beyond the earliest."""
    lines, due, times = played
    found, *got = answers(driver, lines)
    assert found == "known"
    assert len(got) == len(due) - FIRST
    rest = zip(times[FIRST:], due[FIRST:], got, strict=True)
    return [(came - was - EARLIEST_NS, max(0, came - int(seems))) for came, was, seems in rest]


def test_samples_in_time_are_in_time(driver: Path) -> None:
    for _, seems in late_by(driver, play(2_000, lambda _: 0)):
        assert seems <= LATEST_NS


@pytest.mark.parametrize("idle_part", [0.0, 0.5])
def test_none_is_a_period_late_where_the_grid_was_found_while_all_was_slower(
    driver: Path, idle_part: float
) -> None:
    played = play(2_000, lambda _: 0, idle_part, slower_first_ns=4_000)
    for _, seems in late_by(driver, played):
        assert seems <= LATEST_NS


def test_what_is_delayed_is_as_late_as_it_was(driver: Path) -> None:
    """Also by several periods: points that passed meanwhile have no sample."""
    pairs = late_by(
        driver, play(4_000, lambda source: source.choice((0, 0, 0, source.randrange(500_000))))
    )
    assert sum(was > PERIOD_NS for was, _ in pairs) > 500
    for was, seems in pairs:
        # The kernel may have skipped a point while it handled the former one.
        assert seems <= was + LATEST_NS
    right = [abs(seems - was) <= LATEST_NS for was, seems in pairs]
    assert sum(right) / len(right) > 0.97


def test_what_passed_while_the_idle_thread_had_the_cpu_is_not_late(driver: Path) -> None:
    for was, seems in late_by(driver, play(4_000, lambda _: 0, idle_part=0.7)):
        assert was <= LATEST_NS
        assert seems <= LATEST_NS


def test_samples_of_no_grid_find_none(driver: Path) -> None:
    source = random.Random(5)
    times = sorted(source.randrange(10**9) for _ in range(FIRST))
    assert answers(driver, [f"sample {time}" for time in times]) == ["unknown"]
