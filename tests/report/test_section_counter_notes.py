"""What stands below the table of what was counted of executions."""

from __future__ import annotations

import pytest

from whylate.report.section_counters import counter_notes
from whylate.summary.executions import CounterFigures
from whylate.summary.model import SectionCounters

EMPTY = "An empty section has instructions 2,005, page-faults 0: that is in each count"
WITHOUT = "without it the medians are instructions 1,993"


def counters(hooks: dict[str, int] | None) -> SectionCounters:
    def figures(name: str, median: float) -> CounterFigures:
        return CounterFigures(name, "other", "", 400, 1, median, median, 9_000, None, None, None)

    return SectionCounters(
        own=400,
        refused=0,
        shared=0,
        counters=[figures("instructions", 3_998.5), figures("page-faults", 0)],
        fits=[],
        classes=None,
        no_classes="no cycles",
        hooks=hooks,
    )


@pytest.mark.parametrize(
    ("hooks", "text"),
    [
        ({"instructions": 2_005, "page-faults": 0}, f"{EMPTY}; {WITHOUT}."),
        ({"instructions": 0, "page-faults": 0}, "that is in each count, not subtracted."),
        (None, "What the hooks count themselves is in each count, and is not subtracted."),
    ],
)
def test_medians_stand_with_what_hooks_count_and_without(
    hooks: dict[str, int] | None, text: str
) -> None:
    (note,) = counter_notes(counters(hooks))
    assert note.endswith(text)
