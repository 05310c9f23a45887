"""A few cases of the truth test (docs/explanation/truth.md): the whole of it is `make truth`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from truth_case import Case, Rig
from truth_mark import Marked, mark
from truth_runs import make, reference
from truth_tables import calls_something, held_up_by_the_probe

from own_boards import own_boards

pytestmark = pytest.mark.qemu

PC = Rig("pc", 1, "bpf")
ARM = Rig("virt-arm64-rt", 1, "tracefs")


@pytest.fixture(scope="module", autouse=True)
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_boards("pc", "virt-arm64-rt"), pytest.MonkeyPatch.context() as patch:
        store = tmp_path_factory.mktemp("truth")
        patch.setenv("WHYLATE_TRUTH", str(store))
        yield store


def answered(case: Case) -> Marked:
    make(case)
    return mark(case)


@pytest.mark.parametrize(
    "case",
    [
        Case(PC, ("irqs-off",), 10.0, seed=1),
        Case(PC, ("preempt-off",), 3.0, seed=2),
        Case(ARM, ("rt-task",), 10.0, seed=1),
    ],
    ids=lambda case: case.name,
)
def test_a_known_cause_is_called_first_and_its_time_is_located(case: Case) -> None:
    found = answered(case)
    (cause,) = found.causes
    assert cause.place == 0
    # Enough for the interval on the share; how many there are moves with the probe's own code.
    assert found.episodes >= 20
    assert cause.windows_right >= 0.95 * cause.windows
    interval = cause.interval(found.shares)
    assert interval is not None
    assert cause.share is not None
    assert interval[0] <= cause.share <= interval[1]


def test_a_section_that_a_helper_ends_is_named_after_its_caller() -> None:
    """The interrupted function is one that enables interrupts for whoever holds a lock."""
    found = answered(Case(PC, ("bulk-lock",), 10.0, seed=1))
    (first, *_) = found.significant
    assert first.cause == "interrupts disabled"
    assert re.fullmatch(r"f[0-9a-f]{8} \[m[0-9a-f]{8}\]", first.detail)


def test_of_two_causes_both_are_in_the_first_two() -> None:
    found = answered(Case(PC, ("slow-irq", "rt-task"), 10.0, seed=1))
    assert {cause.rank for cause in found.causes} == {0, 1}


@pytest.mark.parametrize("rig", [PC, ARM], ids=lambda rig: rig.name)
def test_a_clean_run_calls_no_cause(rig: Rig) -> None:
    found = answered(reference(rig))
    assert not calls_something(found), found.significant
    # What is called beside it is there: interrupts, and the probe's own sending thread.
    assert [
        share
        for share in found.significant
        if share.cause != "interrupt" and not held_up_by_the_probe(share)
    ] == []


def test_a_run_that_was_made_is_not_made_again(boards: Path) -> None:
    case = reference(ARM)
    make(case)
    before = {path: path.stat().st_mtime_ns for path in boards.rglob("manifest.json")}
    assert before
    make(case)
    assert {path: path.stat().st_mtime_ns for path in boards.rglob("manifest.json")} == before
