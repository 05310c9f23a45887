"""Images by the names of boards: `{board}` in a path, where a board takes a root, and in order."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from whylate.bisect.ordered_images.model import ordered_images_plan
from whylate.bisect.ordered_images.versions import ImageVersions
from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.files import sha256_of
from whylate.run.knobs.apply import apply_knobs
from whylate.run.progress import Quiet
from whylate.study.attempt import Attempts
from whylate.study.model import PlannedRun, StudyPlan
from whylate.study.plan_file import read_plan_file, resolve_plan
from whylate.study.restore.cards import Cards

BOARDS = ("pc", "virt-arm64")
NAMES = ("old", "new")


class Rooted:
    """A virtual board that keeps what it is to boot."""

    def __init__(self) -> None:
        self.roots: list[tuple[Path, str]] = []

    def use_root(self, root: Path, sha256: str) -> None:
        self.roots.append((root, sha256))


def study_of(directory: Path) -> StudyPlan:
    """Return a study of two images for each board, each with a content of its own."""
    for name in NAMES:
        for board in BOARDS:
            (directory / f"{name}-{board}.tar").write_text(f"{name} of {board}")
    lines = [f"boards = {list(BOARDS)}"]
    for name in NAMES:
        lines += [f"[variants.{name}]", f"image = '{directory}/{name}-{{board}}.tar'"]
    (directory / "plan.toml").write_text("\n".join(lines))
    return resolve_plan(read_plan_file(directory / "plan.toml"))


@pytest.mark.parametrize("board", BOARDS)
def test_a_virtual_board_boots_the_root_with_its_name(tmp_path: Path, board: str) -> None:
    plan, rooted = study_of(tmp_path), Rooted()
    attempts = Attempts(tmp_path, plan, lambda *_: cast(Board, rooted), lambda: False)
    for number, variant in enumerate(plan.variants):
        applied = apply_knobs(plan.request, variant.knobs)
        run = PlannedRun(board, "idle", NAMES[number], number)
        attempts.job(run, applied, tmp_path / "run", Quiet()).open()
    roots = [tmp_path / f"{name}-{board}.tar" for name in NAMES]
    assert rooted.roots == [(root, sha256_of(root)) for root in roots]


def test_an_image_that_is_made_meanwhile_is_taken_by_its_path(tmp_path: Path) -> None:
    cards, rooted = Cards(tmp_path, study_of(tmp_path)), Rooted()
    cards.know("/hybrids/{board}/1.tar", "sum")
    cards.opened("pc", cast(Board, rooted), "/hybrids/{board}/1.tar")
    assert rooted.roots == [(Path("/hybrids/{board}/1.tar"), "sum")]


def test_images_in_order_may_name_the_board_and_leave_it_as_it_was(tmp_path: Path) -> None:
    study_of(tmp_path)
    (tmp_path / "plan.toml").write_text("boards = ['pc']")
    file = read_plan_file(tmp_path / "plan.toml")
    images = [f"{tmp_path}/{name}-{{board}}.tar" for name in NAMES]
    plan = ordered_images_plan(file, tmp_path / "plan.toml", images, None, 0.95, 20)

    def no_board(name: str, words: tuple[str, ...]) -> Board:
        raise BoardError(f"{name} is not there {words}")

    versions = ImageVersions(plan, tmp_path, no_board, lambda: False)
    assert versions.names == [f"{tmp_path}/{name}-pc.tar" for name in NAMES]
    assert versions.same_as(1, versions.names[:1]) == ""
    ends: list[bool] = []

    def put_back(*_: object, over: bool = False) -> str:
        ends.append(over)
        return "it is not there"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions._attempts, "put_back", put_back)
        assert versions.leave(Quiet(), over=True) == "it is not there"
    assert ends == [True]
