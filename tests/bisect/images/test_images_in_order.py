"""Images in order: the search of commits, with what a board boots in place of a build."""

from __future__ import annotations

import html
import itertools
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from whylate.bisect.ordered.carry_out import BrokenEndError, Result, bisect_ordered
from whylate.bisect.ordered.journal import OrderedJournal
from whylate.bisect.ordered.model import Kind, Step
from whylate.bisect.ordered.page import write_ordered_page
from whylate.bisect.ordered.versions import LostBoardError, Wanted
from whylate.bisect.ordered.words import lines_of
from whylate.bisect.ordered_images.model import (
    LAYOUT,
    OrderedImagesPlan,
    ordered_images_plan,
)
from whylate.bisect.ordered_images.versions import ImageVersions
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.cli.bisect.ordered_view import OrderedView
from whylate.run.errors import RequestError
from whylate.run.progress import Observer, Quiet
from whylate.stats.ordered_search.outlook import Outlook
from whylate.study.plan_file import read_plan_file

COUNT, CULPRIT, BROKEN, SAME = 12, 7, 3, 5


class Silent:
    """Shows nothing."""

    def observer(self, board: str) -> Observer:
        del board
        return Quiet()

    def searching(self, outlook: Outlook) -> None:
        del outlook

    def run_begins(self, number: int, place: int, kind: Kind) -> None:
        del number, place, kind

    def step_ends(self, step: Step) -> None:
        del step


def no_board(name: str, arguments: tuple[str, ...]) -> Board:
    raise BoardError(f"{name} is not there {arguments}")


class Simulated(ImageVersions):
    """Images whose runs are drawn. broken: places that do not boot."""

    broken: tuple[int, ...] = (BROKEN,)

    def attempt(
        self, wanted: Wanted, board: str, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        del board, directory, observer
        place = wanted.place
        if place in self.broken:
            raise NoOutcomeError("it does not boot")
        noise = np.random.default_rng(number).normal(0, 0.05)
        return 3.0 + 0.3 * (place >= CULPRIT) + float(noise), "s"


def plan_of(tmp_path: Path, text: str = "boards = ['pc']") -> OrderedImagesPlan:
    images = []
    for number in range(COUNT):
        path = tmp_path / f"2026-{number + 1:02}.tar"
        path.write_text(f"{SAME if number == SAME + 1 else number}")
        images.append(str(path))
    (tmp_path / "plan.toml").write_text(text)
    file = read_plan_file(tmp_path / "plan.toml")
    return ordered_images_plan(file, tmp_path / "plan.toml", images, None, 0.95, 200)


def after(most: int) -> Callable[[], bool]:
    """Return what is true once it was called more than so often."""
    calls = itertools.count(1)
    return lambda: next(calls) > most


def test_the_image_is_found_confirmed_and_resumed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    after_some = after(30)
    with OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal:
        versions = Simulated(plan, tmp_path / "b", no_board, after_some)
        assert bisect_ordered(journal, versions, Silent(), after_some).answer is None
        kept = journal.lines
    assert kept
    with OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal:
        versions = Simulated(plan, tmp_path / "b", no_board, lambda: False)
        result = bisect_ordered(journal, versions, Silent(), lambda: False)
        steps = journal.lines
    assert steps[: len(kept)] == kept
    assert result.answer is not None
    assert result.answer.versions == (CULPRIT,)
    assert result.confirmation is not None
    assert result.confirmation.confirmed
    text = "\n".join(lines_of(plan, versions, steps, result))
    assert "This image makes it" in text
    assert "2026-08.tar" in text
    assert "times the image before it" in text


def test_the_page_shows_where_the_step_is_and_trusts_no_name(tmp_path: Path) -> None:
    named = tmp_path / "<script>alert(1)<"
    named.mkdir()
    plan = plan_of(named)
    with OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal:
        versions = Simulated(plan, tmp_path / "b", no_board, lambda: False)
        nothing = write_ordered_page(tmp_path / "b", plan, versions, [], Result()).read_text()
        result = bisect_ordered(journal, versions, Silent(), lambda: False)
        steps = journal.lines
    page = write_ordered_page(tmp_path / "b", plan, versions, steps, result).read_text()
    assert "Not over" in nothing
    assert "<svg" not in nothing
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    assert page.count("<polyline") == 1
    runs = [step for step in steps if step.value is not None]
    broken = [step for step in steps if step.kind == "unbuildable"]
    assert page.count("<circle") == len(runs) + len(broken)
    culprit = html.escape(versions.names[CULPRIT])
    assert re.search(f'class="clear"><td>{CULPRIT}</td><td>{re.escape(culprit)}</td>', page)
    assert "runs that confirm" in page
    assert "<th>board</th>" not in page
    for step in runs:
        assert f"<title>run {step.number}, " in page


def test_versions_that_cannot_be_run_are_shown_as_intervals(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    versions = Simulated(plan, tmp_path / "b", no_board, lambda: False)
    (tmp_path / "b").mkdir()
    steps = [
        Step(number=place, kind="unbuildable", version=versions.names[place], reason="<b>no",
             started="", took_s=0.0)
        for place in (2, 3, 4, 7)
    ]  # fmt: skip
    page = write_ordered_page(tmp_path / "b", plan, versions, steps, Result()).read_text()
    assert re.findall(r"<tr><td>(\d[^<]*)</td>", page) == ["2 to 4", "7"]
    # Of the first of each interval, and of each attempt.
    assert page.count("&lt;b&gt;no</td>") == 2 + 4
    assert "<b>no" not in page


class Installed(Simulated):
    """Images that take a while to bring to the board."""

    def bring(self, wanted: Wanted) -> None:
        del wanted
        time.sleep(0.02)


def test_the_journal_has_how_long_each_version_took_to_be_brought(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    after_some = after(8)
    with OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal:
        versions = Installed(plan, tmp_path / "b", no_board, lambda: False)
        bisect_ordered(journal, versions, Silent(), after_some)
        steps = journal.lines
    assert steps
    assert all(step.brought_s >= 0.02 for step in steps)


class OnTwoBoards(Simulated):
    """Runs on two boards, of which the second is slower by more than the step, until it is lost."""

    boards: Sequence[str] = ("first", "second")
    lost_after = 25

    def attempt(
        self, wanted: Wanted, board: str, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        if board == "second" and number > self.lost_after:
            raise LostBoardError("it does not answer")
        value, unit = super().attempt(wanted, board, number, directory, observer)
        return value + 0.5 * (board == "second"), unit


def test_boards_run_versions_side_by_side_and_one_that_is_lost_leaves_the_rest(
    tmp_path: Path,
) -> None:
    plan = plan_of(tmp_path)
    with OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal:
        versions = OnTwoBoards(plan, tmp_path / "b", no_board, lambda: False)
        versions.boards = OnTwoBoards.boards
        result = bisect_ordered(journal, versions, Silent(), lambda: False)
        steps = journal.lines
    assert result.answer is not None
    assert result.answer.versions == (CULPRIT,)
    assert result.confirmation is not None
    assert result.confirmation.confirmed
    assert result.lost == {"second": "it does not answer"}
    runs = [step for step in steps if step.value is not None]
    assert len({step.number for step in runs}) == len(runs)
    first, second = ([step.version for step in runs if step.board == board]
                     for board in OnTwoBoards.boards)  # fmt: skip
    # While both are there they run the same versions.
    assert len(second) >= 12
    assert first[: len(second)] == second
    # Runs are as few as on one board, although the boards differ by more than the step.
    assert len(runs) < 50
    assert "on 2 boards" in "\n".join(lines_of(plan, versions, steps, result))


def test_images_of_one_content_are_one(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    versions = ImageVersions(plan, tmp_path, no_board, lambda: False)
    names = versions.names
    assert versions.same_as(SAME + 1, names[: SAME + 1]) == names[SAME]
    assert versions.same_as(2, names[:2]) == ""


def test_an_end_that_does_not_boot_ends_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    versions = Simulated(plan, tmp_path / "b", no_board, lambda: False)
    versions.broken = (COUNT - 1,)
    with (
        OrderedJournal(tmp_path / "b", LAYOUT, plan) as journal,
        pytest.raises(BrokenEndError, match=r"the last image, 2026-12\.tar: it does not boot"),
    ):
        bisect_ordered(journal, versions, Silent(), lambda: False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boards = ['local']", "has no card"),
        ("boards = ['pc', 'virt-arm64']", "on one board"),
        ("boards = ['pc']\n[variants.a]\n[variants.b]", "has variants"),
    ],
)
def test_what_cannot_be_bisected_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        plan_of(tmp_path, text)


def test_a_resumed_search_says_at_once_how_long_it_will_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(tmp_path)
    versions = Simulated(plan, tmp_path / "b", no_board, lambda: False)
    earlier = [
        Step(number=number, kind="run", version=versions.names[0], value=1.0, started="",
             took_s=60.0, brought_s=240.0)
        for number in (1, 2)
    ]  # fmt: skip
    said = []
    for steps in ((), earlier):
        with OrderedView(plan, versions, steps) as view:
            view.searching(Outlook(((CULPRIT, 0.5),), 10))
        said.append(" ".join(capsys.readouterr().err.split()))
    assert "about 10 runs to go" in said[0]
    assert "about 10 runs, 50.0 min to go" in said[1]
