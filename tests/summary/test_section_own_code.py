"""Classes by counters have a share of the excess, as those by time; waits name their lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from section_count_examples import EVENTS, summary_of
from section_examples import lock, recorded
from whylate.report.section_counters import counter_classes
from whylate.report.sections import class_rows, longer_notes
from whylate.summary.model import LongerFigures, Summary
from whylate.wire.messages import Note


def longer_of(summary: Summary) -> LongerFigures:
    assert summary.section is not None
    assert summary.section.longer is not None
    return summary.section.longer


def test_classes_by_counters_have_shares_with_intervals_that_sum_to_all(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "r")
    longer = longer_of(summary)
    assert [(each.name, each.count) for each in longer.classes] == [
        ("unexplained", 20), ("data side", 20), ("instruction side", 20), ("spinning", 20),
    ]  # fmt: skip
    # Beyond 1 µs: 10 + 8 + 4 + 2 µs.
    shares = [each.share for each in longer.classes]
    assert shares == pytest.approx([10 / 24, 8 / 24, 4 / 24, 2 / 24])
    for each in longer.classes:
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.share <= each.high
    assert [each.longest_ns for each in longer.classes] == [11_000, 9_000, 5_000, 3_000]
    assert [row.cells[0] for row in class_rows(longer)] == ["41.7 %", "33.3 %", "16.7 %", "8.3 %"]
    assert not any("distinguished" in note for note in longer_notes(longer))
    assert summary.section is not None
    assert summary.section.counters is not None
    assert counter_classes(summary.section.counters) == (
        "longer executions without a class by time, by counters: instruction side 20, data side "
        "20, spinning 20, unexplained 20"
    )


def test_without_counters_of_the_data_side_what_waits_for_it_is_unexplained(tmp_path: Path) -> None:
    longer = longer_of(summary_of(tmp_path / "r", EVENTS[:3]))
    assert [(each.name, each.count) for each in longer.classes] == [
        ("unexplained", 40), ("instruction side", 20), ("spinning", 20),
    ]  # fmt: skip
    assert longer.classes[0].share == pytest.approx(18 / 24)
    assert longer_notes(longer)[1] == (
        "Executions that wait for data are unexplained: stalls of the data side are not counted."
    )


def test_without_counters_code_and_data_cannot_be_distinguished(tmp_path: Path) -> None:
    longer = longer_of(summary_of(tmp_path / "r", ()))
    assert [(each.name, each.share) for each in longer.classes] == [("unexplained", 1)]
    assert longer_notes(longer)[1].endswith(
        "cannot be distinguished: neither cycles, nor instructions, nor stalls were counted."
    )


MUTEX_AT = lock("mutex_lock", "vfs_write", "ksys_write", address=9, count=90, total_ns=90_000)


@pytest.mark.parametrize(
    ("others_ns", "name"),
    [
        (0, "waiting for a lock: mutex 0x9 at vfs_write"),
        # Longer executions waited for 16 µs: half of it may be these others' waits, not more.
        (8_000, "waiting for a lock: mutex 0x9 at vfs_write"),
        (8_001, "waiting for a lock"),
    ],
)
def test_waits_name_the_lock_and_where_where_most_must_be_its_own(
    tmp_path: Path, others_ns: int, name: str
) -> None:
    other = lock("down_read", "do_fault", flags=2, address=7, count=9, total_ns=others_ns)
    example = recorded(tmp_path / "r", MUTEX_AT, *[other] * (others_ns > 0))
    longer = longer_of(example.summary)
    assert [row.name for row in class_rows(longer)][2] == name
    waits = longer.classes[2].waits
    assert (waits is None) == (others_ns > 8_000)
    if waits is not None:
        assert waits.share == pytest.approx(1 - others_ns / 16_000)


def test_where_waits_were_overwritten_no_lock_is_named(tmp_path: Path) -> None:
    note = Note(code="locks", text="7 waits for locks were overwritten before they were read")
    longer = longer_of(recorded(tmp_path / "r", MUTEX_AT, note).summary)
    assert [row.name for row in class_rows(longer)][2] == "waiting for a lock"


def test_waits_of_unknown_callers_name_no_lock(tmp_path: Path) -> None:
    longer = longer_of(recorded(tmp_path / "r", lock(flags=0, count=90, total_ns=90_000)).summary)
    assert [row.name for row in class_rows(longer)][2] == "waiting for a lock"
