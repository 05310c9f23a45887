"""What the vendor's story makes of a search, and what its benchmark counts as right."""

from __future__ import annotations

from typing import Any

import pytest

import bisect_pairs
import vendor_image as story
from story import Claim

LINE = "line etc/rc.local:13 [ -e /sys/kernel/mm/transparent_hugepage/enabled ] && echo always"
OTHER = "boot/vmlinuz"
FULL = {"value": 0.99, "low": 0.97, "high": 1.01}
HALF = {"value": 0.6, "low": 0.4, "high": 0.8}


def result_of(*names: str, back: dict[str, float] | None = FULL, answer: str = "culprits") -> Any:
    """Return a search's document."""
    return {
        "answer": answer,
        "differences": [{"difference": name, "first": None, "second": None} for name in names],
        "culprits": [{"difference": name, "share": FULL} for name in names],
        "confirmation": {"first_with_second": FULL, "second_with_first": back, "runs": 12},
        "runs": [{}] * 50,
    }


def point(faults: float) -> dict[str, Any]:
    return {"counts": {"page-faults": {"value": faults}}}


@pytest.mark.parametrize(
    ("names", "reproduced", "why"),
    [
        ([LINE], "yes", "and nothing else"),
        ([LINE, OTHER], "yes", "beside others"),
        ([OTHER], "no", "something else"),
        (["line etc/rc.local:3 touch /run/log"], "no", "something else"),
        ([], "cannot be told here", "named nothing"),
    ],
)
def test_only_the_line_of_rc_local_is_the_published_cause(
    names: list[str], reproduced: str, why: str
) -> None:
    claim = story.culprit(result_of(*names))
    assert claim.reproduced == reproduced
    assert why in claim.why
    assert "in 50 runs" in claim.seen


def test_both_ways_are_needed_and_each_goes_more_than_half() -> None:
    def claim(back: dict[str, float] | None) -> Claim:
        return story.both_ways(result_of(LINE, back=back))

    assert claim(FULL).reproduced == "yes"
    assert "12 fresh runs" in claim(FULL).seen
    assert claim(HALF).reproduced == "cannot be told here"
    assert claim(None).seen == "no figure"


def test_without_fewer_page_faults_there_is_no_story() -> None:
    assert story.not_treated(point(107), point(8283)) == ""
    assert story.not_treated(point(8283), point(8283)) == (
        "8,283 page faults with the vendor's image and 8,283 with ours"
    )


def test_the_vendor_is_faster_by_an_interval() -> None:
    assert story.speed({"value": 0.82, "low": 0.8, "high": 0.83}).reproduced == "yes"
    assert "× 2.27 [2.23, 2.29]" in story.speed({"value": 0.82, "low": 0.8, "high": 0.83}).seen
    assert story.speed({"value": -0.8, "low": -0.9, "high": -0.7}).reproduced == "no"


def test_the_benchmark_counts_exactly_what_was_built_in_as_right() -> None:
    line, two, nothing, kept = bisect_pairs.CASES
    default = "line etc/default/copy:3 GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
    assert bisect_pairs.is_right(line, result_of(LINE))
    assert not bisect_pairs.is_right(line, result_of(LINE, OTHER))
    assert bisect_pairs.is_right(two, result_of(default, LINE))
    assert not bisect_pairs.is_right(two, result_of(LINE))
    assert not bisect_pairs.is_right(two, result_of(LINE, LINE))
    assert bisect_pairs.is_right(nothing, result_of(answer="no gap"))
    assert not bisect_pairs.is_right(nothing, result_of(LINE))
    assert bisect_pairs.is_right(kept, result_of(answer="not among the differences"))
    assert not bisect_pairs.is_right(kept, result_of(LINE))
    assert not bisect_pairs.is_right(kept, result_of(answer="no gap"))
