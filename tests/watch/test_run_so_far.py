"""A run in progress beside the previous run of its plan."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from journals import samples, write_journal
from watched_runs import append, begin, finished, progress, start

from leb128 import leb128
from whylate.files import try_lock
from whylate.recording.finish import finish
from whylate.recording.store.journal import NAME, Opening
from whylate.recording.store.samples_reader import MEMORY_ROWS
from whylate.recording.workloads.activations import DetachPlan, RecorderPlan
from whylate.watch import previous
from whylate.watch.card import board_card
from whylate.watch.model import BoardView, RunView
from whylate.watch.run_so_far import RunSoFar
from whylate.wire.messages import Samples


@pytest.fixture
def under_way(tmp_path: Path) -> Path:
    """A run of 4000 activations whose first 1000 have been measured."""
    sent = [start(4000), samples([10_000] * 500), samples([20_000] * 500, 500), progress(1000)]
    return write_journal(tmp_path / "now", begin(4000, seed=7), sent, ended=False)


def poll(run: RunSoFar, *recordings: str) -> RunView:
    seen = run.poll(list(recordings))
    assert seen is not None
    return seen


def figures(seen: RunView) -> dict[str, tuple[int | None, int | None]]:
    return {figure.name: (figure.now_ns, figure.before_ns) for figure in seen.figures}


def test_a_journal_is_followed_as_it_grows(under_way: Path) -> None:
    run = RunSoFar(under_way)
    seen = poll(run)
    assert (seen.seen, seen.elapsed_s, seen.planned_s) == (1000, 1.0, 4.0)
    assert seen.loads == ["memory:1"]
    assert figures(seen)["max"] == (20_000, None)
    assert seen.before == "no former run of this plan on this board"
    append(under_way, samples([90_000], 1000), progress(1001))
    seen = poll(run)
    assert (seen.seen, figures(seen)["max"]) == (1001, (90_000, None))


def test_it_is_beside_the_same_time_of_the_previous_run(under_way: Path, tmp_path: Path) -> None:
    # Twice as late in its first second, and much later after that.
    former = finished(tmp_path / "former", [20_000] * 500 + [40_000] * 500 + [10**6] * 3000)
    seen = poll(RunSoFar(under_way), former)
    assert figures(seen)["max"] == (20_000, 40_000)
    now, before = figures(seen)["p50"]
    assert now == pytest.approx(10_000, rel=0.01)
    assert before == pytest.approx(20_000, rel=0.01)
    assert figures(seen)["p99.9"] == (None, None)
    assert seen.before.startswith("the first 1.0 s of the run of 2026-01-01T00:00:00")


def test_figures_that_count_overruns_are_lower_bounds(tmp_path: Path) -> None:
    block = samples([10_000] * 499 + [2_500_000])
    # Two overruns follow the last one, late by at least 1.5 and 0.5 ms.
    block = Samples(0, 500, 0, block.data + leb128(499) + leb128(2))
    sent = [start(4000), block, progress(510)]
    now = write_journal(tmp_path / "now", begin(4000), sent, ended=False)
    former = finished(tmp_path / "former", [20_000] * 4000)
    seen = poll(RunSoFar(now), former)
    assert seen.overruns == 2
    shown = {figure.name: (figure.now_at_least, figure.before_at_least) for figure in seen.figures}
    assert shown["p50"] == (False, False)
    assert shown["max"] == (True, False)
    view = BoardView("b", "on", "", [], "", "", None, seen, None, "", "")
    assert [figure.now[0] for figure in board_card(view).figures if figure.name == "max"] == ["≥"]


def test_the_latest_run_of_the_same_plan_is_taken(under_way: Path, tmp_path: Path) -> None:
    older = finished(tmp_path / "older", [70_000] * 1000)
    same = finished(tmp_path / "same", [50_000] * 2000, seed=3)
    other = finished(tmp_path / "other", [60_000] * 1000, load="net")
    gone = str(tmp_path / "gone")
    seen = poll(RunSoFar(under_way), older, same, other, gone, str(under_way))
    assert figures(seen)["max"] == (20_000, 50_000)


def test_what_the_recorder_chose_by_chance_makes_no_other_plan(tmp_path: Path) -> None:
    def recorded(blocks: list[int]) -> Opening:
        opened = begin(1000)
        workload = msgspec.structs.replace(
            opened.plan.workload,
            recorder=RecorderPlan(
                control_every=1000 + blocks[0], detach=DetachPlan(500_000_000, 4, blocks)
            ),
        )
        return msgspec.structs.replace(
            opened, plan=msgspec.structs.replace(opened.plan, workload=workload)
        )

    now = write_journal(tmp_path / "now", recorded([1, 5]), [start(1000)], ended=False)
    sent = [start(1000), samples([9_000] * 500)]
    former = write_journal(tmp_path / "former", recorded([2, 7]), sent)
    finish(former)
    append(now, samples([8_000] * 500), progress(500))
    assert figures(poll(RunSoFar(now), str(former)))["max"] == (8_000, 9_000)


def test_a_previous_run_that_is_long_is_not_read(
    under_way: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert previous.MOST_ROWS <= MEMORY_ROWS, "more would go to a temporary file"
    former = finished(tmp_path / "former", [20_000] * 4000)
    monkeypatch.setattr(previous, "MOST_ROWS", 3999)
    seen = poll(RunSoFar(under_way), former)
    assert figures(seen)["max"] == (20_000, None)
    assert re.search("the run of 2026-.* is too long to be read beside another", seen.before)


def test_a_former_run_that_was_killed_is_not_recovered(under_way: Path, tmp_path: Path) -> None:
    killed = write_journal(tmp_path / "killed", begin(10), [start(10)], ended=False)
    seen = poll(RunSoFar(under_way), str(killed))
    assert seen.before == "no former run of this plan on this board"
    assert [path.name for path in killed.iterdir()] == [NAME]


def test_it_takes_no_lock_and_changes_nothing(under_way: Path) -> None:
    before = (under_way / NAME).read_bytes()
    run = RunSoFar(under_way)
    poll(run)
    with (under_way / NAME).open("rb") as file:
        assert try_lock(file.fileno())
    assert (under_way / NAME).read_bytes() == before
    assert [path.name for path in under_way.iterdir()] == [NAME]


def test_a_journal_that_is_damaged_or_no_journal_does_no_harm(
    under_way: Path, tmp_path: Path
) -> None:
    whole = (under_way / NAME).read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    for data in (b"", whole[:100], b"\xff" * 5000, whole[len(whole) // 2 :]):
        (cut / NAME).write_bytes(data)
        assert RunSoFar(cut).poll([]) is None
    half = whole[: len(whole) - 30] + b"\0damage\0" + whole[-20:]
    (cut / NAME).write_bytes(half)
    assert poll(RunSoFar(cut)).seen >= 500
    (cut / NAME).unlink()
    (cut / NAME).symlink_to("/dev/zero")
    assert RunSoFar(cut).poll([]) is None
