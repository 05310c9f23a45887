"""`whylate bisect commits` with files that it puts on the board: the short form of the benchmark.

The program of bench/made_repository.py runs on this machine, and its runs are compared by the work
that it prints instead of its CPU time: that has the same spread, and no noise of this machine.
bench/real_histories.py is the long form: ten seeds, CPU time, on a virtual board.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

import starts
from made_repository import FEW, MANY, MadeRepository, build_command, git, make_repository
from whylate.bisect.commits.graph import read_commits
from whylate.cli.bisect.commits import commits_plan
from whylate.run.errors import RequestError
from whylate.study.plan_file import plan_of_variants, read_plan_file

SEED = 3


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> MadeRepository:
    return make_repository(tmp_path_factory.mktemp("made") / "repository", SEED)


def command(repository: MadeRepository, folder: Path, *options: str) -> list[str]:
    plan = folder / "plan.toml"
    plan.write_text(
        f"[cmd]\ncommand = ['{folder}/board/work']\nvalue = '(\\d+) words'\nrounds = 1\n"
    )
    return [
        sys.executable, "-m", "whylate", "bisect", "commits", repository.good, repository.bad,
        str(plan), "--repository", str(repository.path), "--build", build_command(),
        "--put", f"work:{folder}/board/work", "-o", str(folder / "b"), "--jobs", "1", *options,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def bisection(
    repository: MadeRepository, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str, Path]:
    """Return what is printed as JSON, the lines of progress, and the directory of it all."""
    folder = tmp_path_factory.mktemp("bisection")
    words = [*command(repository, folder), "--json", "--junit", str(folder / "junit.xml")]
    done = starts.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr, folder


def test_the_commit_is_named_and_confirmed(
    bisection: tuple[dict[str, Any], str, Path], repository: MadeRepository
) -> None:
    document = bisection[0]
    assert document["commits"] == [repository.culprit]
    assert document["probability"] >= 0.95
    assert document["confirmation"]["confirmed"]
    # The repository's own work: by how much the culprit makes it more.
    assert document["confirmation"]["low"] < MANY / FEW - 1 < document["confirmation"]["high"] + 0.1


def test_bad_without_it_is_like_good_again(
    bisection: tuple[dict[str, Any], str, Path], repository: MadeRepository
) -> None:
    document = bisection[0]
    back = document["reverted"]["gives_back"]
    # Wrong once in 20 times for an interval of 95 %: the wide limits are once in thousands.
    assert 0.5 < back["part"] < 1.6
    assert 0 < back["low"] < back["part"] < back["high"]
    kinds = [step["kind"] for step in document["steps"]]
    assert kinds.count("reverted") == kinds.count("kept") == document["reverted"]["pairs"]
    assert git(repository.path, "status", "--porcelain") == ""


def test_nothing_is_left_on_the_board(bisection: tuple[dict[str, Any], str, Path]) -> None:
    assert not (bisection[2] / "board").exists()


def test_progress_names_the_leading_commits_and_the_runs_to_go(
    bisection: tuple[dict[str, Any], str, Path],
) -> None:
    document, progress, _ = bisection
    shown = " ".join(progress.split())
    assert "most probable: " in shown
    assert " to go before it is confirmed" in shown
    assert f"{document['commits'][0][:12]} 0." in shown
    assert "BAD without the culprit: commit" in shown


def test_a_pipeline_sees_a_failure(
    bisection: tuple[dict[str, Any], str, Path], repository: MadeRepository
) -> None:
    suite = Xml.parse(bisection[2] / "junit.xml").getroot()  # noqa: S314 (it is ours)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert repository.culprit[:12] in failure.get("message", "")


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--put", "work", "write FILE:PATH"),
        ("--put", "../work:/usr/bin/work", "write FILE:PATH"),
        ("--put", "work:bin/work", "is no path on a board"),
        ("--put", "made:/usr/bin/made", "the build made no made"),
        ("--before", "insmod 'x", "No closing quotation"),
    ],
)
def test_what_cannot_be_put_is_refused_in_a_line(
    tmp_path: Path, repository: MadeRepository, option: str, text: str, message: str
) -> None:
    words = command(repository, tmp_path, option, text)
    done = starts.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, 3)
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_command_that_fails_on_the_board_is_of_the_commit(
    tmp_path: Path, repository: MadeRepository
) -> None:
    words = command(repository, tmp_path, "--before", "ls /absent")
    done = starts.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, 3)
    shown = " ".join(done.stderr.split())
    assert "ls /absent ended with status 2" in shown
    assert "GOOD" in shown or "BAD" in shown


def test_what_builds_and_brings_a_commit_may_stand_in_the_plan(
    repository: MadeRepository, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[commits]\nbuild = 'make all'\nput = ['work:/usr/bin/work']\nbefore = ['insmod x']\n"
        "[cmd]\ncommand = ['true']\nrounds = 1\n"
    )
    commits = read_commits(repository.path, repository.good, repository.bad)
    none: dict[str, object] = dict.fromkeys(("build", "install", "binary"))
    none |= {"put": (), "before": (), "after": (), "repository": repository.path}
    none |= {"first_parent": False, "statistic": "CPU time", "confidence": 0.95, "runs": 100}
    made = commits_plan(commits, plan, none)
    assert made.build == ["make", "all"]
    assert made.put == ["work:/usr/bin/work"]
    assert made.before == [["insmod", "x"]]
    assert (made.install, made.after, made.binary) == ([], [], "")
    made = commits_plan(commits, plan, none | {"build": "cc x.c", "put": ("a:/a",)})
    assert made.build == ["cc", "x.c"]
    assert made.put == ["a:/a"]
    assert made.before == [["insmod", "x"]]
    with pytest.raises(RequestError, match=r"\[commits\] is of whylate bisect commits"):
        plan_of_variants(read_plan_file(plan), [])
    plan.write_text("[commits]\nputs = []\n[cmd]\ncommand = ['true']\n")
    with pytest.raises(RequestError, match=r"\[commits\] has no key 'puts': there are after, bef"):
        read_plan_file(plan)
    plan.write_text("[cmd]\ncommand = ['true']\nrounds = 1\n")
    with pytest.raises(RequestError, match="name the command that builds a commit"):
        commits_plan(commits, plan, none)
