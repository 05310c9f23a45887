"""Ranges of real repositories: which commit holds which, and a log that git replays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from whylate.bisect.commits.bisect_log import format_bisect_log
from whylate.bisect.commits.git import GitError, resolve_commit, run_git
from whylate.bisect.commits.graph import read_commits
from whylate.stats.ordered_search.answer import Answer, Kind, Kinds
from whylate.stats.ordered_search.events import Costs, Event, Measured, Settings, Unbuildable
from whylate.stats.ordered_search.posterior import unbuildable
from whylate.stats.ordered_search.search import next_step


def git(repository: Path, *arguments: str, status: int = 0) -> str:
    """Run git as a user of a test, and return what it printed."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(repository), *identity, *arguments],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stdout.strip()


def commit(repository: Path, subject: str, *parents: str) -> str:
    """Make a commit with these parents and an empty tree, and return its hash."""
    tree = git(repository, "hash-object", "-t", "tree", "-w", "/dev/null")
    words = [word for parent in parents for word in ("-p", parent)]
    return git(repository, "commit-tree", tree, *words, "-m", subject)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def line(repository: Path, count: int) -> list[str]:
    """Make a line of commits, the branch main at its end."""
    hashes: list[str] = []
    for number in range(count):
        hashes.append(commit(repository, f"change {number}", *hashes[-1:]))
    git(repository, "update-ref", "refs/heads/main", hashes[-1])
    return hashes


def merged(repository: Path) -> dict[str, str]:
    """Make GOOD - a - m - BAD, where m merges b - c, which left GOOD."""
    names = {"root": commit(repository, "root")}
    names["good"] = commit(repository, "good", names["root"])
    names["a"] = commit(repository, "a", names["good"])
    names["b"] = commit(repository, "b", names["good"])
    names["c"] = commit(repository, "c", names["b"])
    names["m"] = commit(repository, "merge", names["a"], names["c"])
    names["bad"] = commit(repository, "bad", names["m"])
    git(repository, "update-ref", "refs/heads/main", names["bad"])
    return names


def test_a_line_is_read_in_its_order(repository: Path) -> None:
    hashes = line(repository, 6)
    commits = read_commits(repository, "main~4", "main")
    assert commits.hashes == tuple(hashes[1:])
    assert commits.subjects[1:] == ("change 2", "change 3", "change 4", "change 5")
    assert commits.history.holds is None
    assert commits.place(hashes[3]) == 2


def test_a_commit_holds_its_ancestors_on_all_branches(repository: Path) -> None:
    names = merged(repository)
    commits = read_commits(repository, names["good"], names["bad"])
    assert len(commits.hashes) == 6
    assert commits.history.holds is not None
    for name, holds in {
        "a": {"good", "a"},
        "c": {"good", "b", "c"},
        "m": {"good", "a", "b", "c", "m"},
    }.items():
        row = commits.history.holds[commits.place(names[name])]
        assert {commits.hashes[place] for place in np.flatnonzero(row)} == {
            names[other] for other in holds
        }


def test_as_many_ancestors_as_git_counts(repository: Path) -> None:
    names = merged(repository)
    commits = read_commits(repository, names["good"], names["bad"])
    ours = commits.history.held_mass(np.append(0.0, np.ones(5)))
    listed = git(repository, "rev-list", "--bisect-all", names["bad"], "^" + names["good"])
    for text in listed.splitlines():
        name, decoration = text.split(" ", 1)
        held = int(ours[commits.place(name)])
        distance = re.search(r"dist=(\d+)", decoration)
        assert distance
        assert min(held, 5 - held) == int(distance[1])


def test_first_parents_are_a_line(repository: Path) -> None:
    names = merged(repository)
    commits = read_commits(repository, names["good"], names["bad"], first_parent=True)
    assert commits.hashes == tuple(names[name] for name in ("good", "a", "m", "bad"))
    assert commits.history.holds is None


@pytest.mark.parametrize("name", ["", "--all", "main\nmain", "x" * 500])
def test_a_name_that_no_commit_can_have_does_not_reach_git(repository: Path, name: str) -> None:
    with pytest.raises(GitError, match="is no name of a commit") as raised:
        resolve_commit(repository, name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["no-such-branch", "main:file", "0" * 40])
def test_a_name_of_no_commit_is_one_line(repository: Path, name: str) -> None:
    line(repository, 2)
    with pytest.raises(GitError, match="names no commit") as raised:
        resolve_commit(repository, name)
    assert "\n" not in str(raised.value)


def test_good_must_be_an_ancestor_of_bad(repository: Path) -> None:
    names = merged(repository)
    with pytest.raises(GitError, match=f"use {names['good'][:12]}, their merge base"):
        read_commits(repository, names["a"], names["c"])
    with pytest.raises(GitError, match="same commit"):
        read_commits(repository, "main", "main")
    with pytest.raises(GitError, match="not between"):
        read_commits(repository, names["good"], names["bad"]).place(names["root"])


def test_two_steps_have_no_verdicts(repository: Path) -> None:
    hashes = line(repository, 5)
    commits = read_commits(repository, hashes[0], hashes[-1])
    answer = Answer(Kind.TWO_STEPS, (1,), (3,), 0.97, 0.2, Kinds(0.0, 0.02, 0.97, 0.01))
    log = format_bisect_log(commits, answer, [0, 4, 2], {1})
    assert re.findall(r"^git bisect (\w+)", log, re.MULTILINE) == ["start", "bad", "good", "skip"]
    assert "# two steps, with probability 0.970" in log


def test_an_interval_replays_to_its_commits(repository: Path) -> None:
    hashes = line(repository, 9)
    commits = read_commits(repository, hashes[0], hashes[-1])
    answer = Answer(Kind.VERSIONS, (4, 5), (), 0.97, 0.2, Kinds(0.0, 1.0, 0.0, 0.0))
    log = repository / "log"
    log.write_text(format_bisect_log(commits, answer, [0, 8, 3, 5, 3], {4}))
    replayed = git(repository, "bisect", "replay", str(log), status=2)
    assert "only 'skip'ped commits left" in replayed
    assert {hashes[4], hashes[5]} == set(re.findall(r"^[0-9a-f]{40}", replayed, re.MULTILINE))


def test_no_repository_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository"):
        read_commits(tmp_path, "a", "b")


def test_the_environment_leads_to_no_other_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = line(repository, 3)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert run_git(repository, ["rev-parse", "main"]).strip() == hashes[-1]


def test_control_characters_of_a_subject_are_not_printed(repository: Path) -> None:
    first = commit(repository, "start")
    second = commit(repository, "red \x1b[31m alert\ttab", first)
    assert read_commits(repository, first, second).subjects[1] == "red  [31m alert tab"


@pytest.mark.parametrize("with_merges", [False, True])
def test_git_replays_the_log_to_the_same_commit(repository: Path, with_merges: bool) -> None:
    hashes = line(repository, 24)
    if with_merges:
        side = [commit(repository, f"side {n}", hashes[6]) for n in range(1)]
        for number in range(6):
            side.append(commit(repository, f"side {number + 1}", side[-1]))
        hashes.append(commit(repository, "merge", hashes[-1], side[-1]))
        hashes.append(commit(repository, "after", hashes[-1]))
        git(repository, "update-ref", "refs/heads/main", hashes[-1])
    commits = read_commits(repository, hashes[0], hashes[-1])
    culprit = commits.place(side[3] if with_merges else hashes[13])
    broken = {commits.place(commit) for commit in hashes[8:11]}
    settings = Settings(confidence=0.98, end_runs=3, costs=Costs(1, 0, 0.1), seed=3)
    events = search(commits.history, culprit, broken, settings)
    answer = next_step(commits.history, events, settings)
    assert isinstance(answer, Answer)
    assert answer.kind is Kind.ONE_VERSION
    assert answer.versions == (culprit,)
    runs = [event.version for event in events if isinstance(event, Measured)]
    log = repository / "log"
    log.write_text(format_bisect_log(commits, answer, runs, unbuildable(events)))
    replayed = git(repository, "bisect", "replay", str(log))
    assert f"{commits.hashes[culprit]} is the first bad commit" in replayed


def search(history, culprit, broken, settings) -> list[Event]:  # type: ignore[no-untyped-def]
    """Search with a step of 6 standard deviations, and return all events."""
    rng = np.random.default_rng(7)
    events: list[Event] = []
    while not isinstance(step := next_step(history, events, settings), Answer):
        if step.version in broken:
            events.append(Unbuildable(step.version))
            continue
        slow = bool(history.changes([step.version])[0, culprit])
        events.append(Measured(step.version, 6.0 * slow + rng.normal()))
    return events
