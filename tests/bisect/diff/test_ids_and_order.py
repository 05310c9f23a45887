"""Ids and order of differences."""

from __future__ import annotations

from whylate.bisect.differences.model import Difference, Means, difference_id, make_difference
from whylate.bisect.differences.order import depths, in_order
from whylate.bisect.kinds import Kind


def difference(kind: Kind, name: str, parent: str | None = None) -> Difference:
    return make_difference(kind, name, "1", "2", Means("file", name), parent)


def test_absent_is_not_empty_and_no_value_runs_into_the_next() -> None:
    ids = {
        difference_id(Kind.FILE, "a", None, ""),
        difference_id(Kind.FILE, "a", "", None),
        difference_id(Kind.FILE, "a", "", ""),
        difference_id(Kind.FILE, "a", None, None),
        difference_id(Kind.FILE, "ab", "", ""),
        difference_id(Kind.FILE, "a", "b", ""),
        difference_id(Kind.FILE, "a", "", "b"),
        difference_id(Kind.LINE, "a", "", "b"),
    }
    assert len(ids) == 8
    # As a journal of an earlier version may hold it.
    assert difference_id(Kind.FILE, "a", "1", "2") == "file-44b3967634fe4b63"


def test_parents_come_before_their_parts_and_names_as_people_count() -> None:
    package = difference(Kind.PACKAGE, "tool")
    listed = [
        difference(Kind.LINE, "f:10", difference(Kind.FILE, "f").id),
        difference(Kind.LINE, "f:2", difference(Kind.FILE, "f").id),
        difference(Kind.FILE, "cpu10"),
        difference(Kind.FILE, "cpu2", "not listed"),
        difference(Kind.FILE, "f", package.id),
        difference(Kind.OPTION, "AAA"),
        difference(Kind.OPTION, "PREEMPT_RT"),
        package,
    ]
    ordered = in_order(listed)
    assert [row.name for row in ordered] == [
        "PREEMPT_RT", "AAA", "tool", "f", "f:2", "f:10", "cpu2", "cpu10",
    ]  # fmt: skip
    assert list(depths(ordered).values()) == [0, 0, 0, 1, 2, 2, 0, 0]
    assert in_order(reversed(listed)) == ordered
