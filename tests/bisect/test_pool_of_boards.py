"""Values of runs relative to their boards, and commits on several boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_repository import MadeRepository, make_repository
from whylate.bisect.commits.graph import read_commits
from whylate.bisect.commits.model import CommitsPlan
from whylate.bisect.commits.versions import CommitVersions
from whylate.bisect.ordered.model import Step
from whylate.bisect.ordered.pool import without_boards
from whylate.bisect.ordered.versions import LostBoardError, Wanted
from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.run.progress import Quiet


def step(board: str, version: str, value: float) -> Step:
    return Step(
        number=1, kind="run", version=version, board=board, value=value, started="", took_s=1.0
    )


def test_a_board_counts_relative_to_its_own_runs_of_both_ends() -> None:
    steps = [
        step("a", "good", 1.0), step("a", "bad", 2.0), step("b", "good", 1.4),
        step("b", "good", 9.0), step("b", "good", 1.4), step("b", "bad", 2.4),
        step("a", "middle", 1.5), step("b", "middle", 1.9), step("c", "middle", 7.0),
    ]  # fmt: skip
    values = [made.value for made in without_boards(steps, ("good", "bad"))]
    # An outlier has no weight, and a board without runs of the ends stays as it is.
    assert values == pytest.approx([1.2, 2.2, 1.2, 8.8, 1.2, 2.2, 1.7, 1.7, 7.0])


def test_a_board_with_one_end_counts_relative_to_that_end_of_the_others() -> None:
    steps = [
        step("a", "good", 1.0), step("a", "bad", 2.0), step("b", "good", 1.4),
        step("b", "middle", 1.9),
    ]  # fmt: skip
    values = [made.value for made in without_boards(steps, ("good", "bad"))]
    assert values == pytest.approx([1.2, 2.2, 1.2, 1.7])


def test_two_boards_with_one_end_each_cannot_be_compared() -> None:
    steps = [step("a", "good", 1.0), step("b", "bad", 2.5)]
    assert without_boards(steps, ("good", "bad")) == steps
    steps += [step("c", "bad", 2.1)]
    values = [made.value for made in without_boards(steps, ("good", "bad"))]
    assert values == pytest.approx([1.0, 2.3, 2.3])


def test_one_board_stays_as_it_is() -> None:
    steps = [step("", "good", 1.0), step("", "bad", 2.5), step("", "middle", 1.5)]
    assert without_boards(steps, ("good", "bad")) == steps


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> MadeRepository:
    return make_repository(tmp_path_factory.mktemp("made") / "repository", 1)


def test_a_commit_is_run_on_the_board_that_is_asked_for(
    repository: MadeRepository, tmp_path: Path
) -> None:
    plan_path = tmp_path / "plan.toml"
    plan_path.write_text("boards = ['a', 'b']\n[cmd]\ncommand = ['{build}/work']\nrounds = 1\n")
    commits = read_commits(repository.path, repository.good, repository.bad)
    plan = CommitsPlan(
        repository=str(repository.path), good=commits.hashes[0], bad=commits.hashes[-1],
        first_parent=False, build=["true"], install=[], put=[], before=[], after=[], binary="",
        plan_sha256="", statistic="CPU time", confidence=0.95, runs=100, seed=1,
    )  # fmt: skip
    opened: list[str] = []

    def open_for(name: str, _: tuple[str, ...]) -> Board:
        opened.append(name)
        raise BoardError(f"{name} does not answer")

    versions = CommitVersions(plan, commits, tmp_path, plan_path, open_for, lambda: False)
    assert versions.boards == ["a", "b"]
    for board in versions.boards:
        with pytest.raises(LostBoardError, match=f"{board} does not answer; the same command"):
            versions.attempt(Wanted(0), board, 1, tmp_path / "run", Quiet())
    assert opened == ["a", "b"]
