"""A short form of bench/calibrate_search.py: the answers are right, in about as many runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from calibrate_search import Bench, Oracle, ddmin, halve, search
from whylate.stats.search.ends import needed_runs


@pytest.mark.parametrize(
    "name",
    [
        "a single culprit",
        "two that need each other",
        "two, each enough",
        "two that add up",
        "three that need each other",
        "three that add up",
        "none of the differences",
        "62 % one item, the rest none",
        "no gap",
        "two that need each other in a hierarchy of 2,000",
    ],
)
def test_searches_end_with_the_right_answer(name: str) -> None:
    # A number beyond those of the calibration.
    row = search(name, 10_000)
    assert row["right"], row
    assert row["runs"] < 3 * needed_runs(4)


def test_the_rivals_find_what_they_can() -> None:
    class Sure(Oracle):
        def __init__(self, needed: set[int]) -> None:
            self.needed = needed
            self.asked = 0

        def __call__(self, chosen: Sequence[int]) -> bool:
            self.asked += 1
            return self.needed.issubset(chosen)

    assert ddmin(Sure({7}), 64) == [7]
    assert sorted(ddmin(Sure({7, 40, 41}), 64)) == [7, 40, 41]
    assert halve(Sure({7}), 64) == [7]
    assert halve(Sure({7, 40}), 64) == []


def test_an_untestable_hybrid_stays_so() -> None:
    bench = Bench("a single culprit", 3)
    rng = np.random.default_rng(1)
    rows = [rng.random(256) < 0.5 for _ in range(300)]
    first, again = ([bench.run(row, False) is None for row in rows] for _ in range(2))
    assert first == again
    assert 3 <= sum(first) <= 30
