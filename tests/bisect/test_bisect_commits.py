"""`whylate bisect commits` on this machine, in repositories that are made for it.

A program counts to a number; one commit in a branch makes it count three times as far, some commits
beside do not compile, and most change nothing but a note.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import starts

PROGRAM = """\
int main(void)
{{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < {count}u; i++)
		sum += i;
	return 0;
}}
"""
PLAN = """\
[cmd]
command = ["{build}/count"]
rounds = 1
"""
FEW, MANY = 4_000_000, 12_000_000
BUILD = "cc -O1 -o count count.c"


@dataclass(frozen=True)
class Repository:
    """A repository with its first and last commit, and the one that takes longer."""

    path: Path
    good: str
    bad: str
    culprit: str


def git(path: Path, *arguments: str) -> str:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "n", f"GIT_{role}_EMAIL": "n@example.org"}
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.strip()


def commit(path: Path, subject: str, count: int, *, compiles: bool = True) -> str:
    (path / "count.c").write_text(PROGRAM.format(count=count) + ("" if compiles else "no C\n"))
    # Of different length in a branch, so that merges have nothing to resolve.
    (path / f"notes-{git(path, 'branch', '--show-current')}").write_text(subject)
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", subject)
    return git(path, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Return 66 commits: 25 on the trunk, a branch of 16 in which the culprit is, and 24 more."""
    path = tmp_path_factory.mktemp("repository")
    git(path, "init", "-q", "-b", "trunk")
    good = commit(path, "begin", FEW)
    for number in range(1, 25):
        commit(path, f"trunk {number}", FEW, compiles=number not in range(8, 12))
    git(path, "switch", "-q", "-c", "branch")
    culprit = ""
    for number in range(16):
        made = commit(path, f"branch {number}", FEW if number < 9 else MANY)
        culprit = made if number == 9 else culprit
    git(path, "switch", "-q", "trunk")
    (path / "other").write_text("of the trunk")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "trunk meanwhile")
    git(path, "merge", "-q", "--no-ff", "-m", "merge the branch", "branch")
    for number in range(24):
        commit(path, f"trunk {number + 25}", MANY, compiles=number not in (3, 4))
    return Repository(path, good, git(path, "rev-parse", "HEAD"), culprit)


def bisect(repository: Repository, directory: Path, *options: str) -> list[str]:
    plan = directory / "plan.toml"
    plan.write_text(PLAN)
    return [
        sys.executable, "-m", "whylate", "bisect", "commits", repository.good, repository.bad,
        str(plan), "--repository", str(repository.path), "--build", BUILD,
        "--statistic", "CPU time", "-o", str(directory / "b"), *options,
    ]  # fmt: skip


def documented(command: list[str]) -> dict[str, Any]:
    done = starts.run(
        [*command, "--json"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_commit_is_found_and_confirmed_also_after_everything_was_killed(
    tmp_path: Path, repository: Repository
) -> None:
    refs = git(repository.path, "show-ref")
    command = bisect(repository, tmp_path)
    lines = tmp_path / "b" / "steps.jsonl"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 200
        while not lines.exists() or lines.read_bytes().count(b"\n") < 22:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    kept = lines.read_bytes()
    document = documented(command)
    assert lines.read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])
    assert document["answer"] == "one version", document
    assert document["commits"] == [repository.culprit]
    assert document["probability"] >= 0.95
    assert document["confirmation"]["confirmed"]
    assert document["confirmation"]["low"] > 0
    # No commit that was run is one that does not compile.
    broken = {"no C" in git(repository.path, "show", f"{step['version']}:count.c")
              for step in document["steps"] if step["kind"] == "run"}  # fmt: skip
    assert broken == {False}
    # Nothing but its own directory has changed.
    assert git(repository.path, "show-ref") == refs
    assert git(repository.path, "status", "--porcelain") == ""
    assert len(git(repository.path, "worktree", "list").splitlines()) == 1
    check_log(repository, tmp_path)
    assert documented(command)["steps"] == document["steps"]
    check_log_that_cannot_be_written(command, tmp_path / "b" / "bisect.log", repository)


def check_log(repository: Repository, directory: Path) -> None:
    """git goes on from the log as from one of its own."""
    clone = directory / "clone"
    git(directory, "clone", "-q", str(repository.path), str(clone))
    git(clone, "bisect", "replay", str(directory / "b" / "bisect.log"))
    marked = git(clone, "for-each-ref", "--format=%(objectname)", "refs/bisect/bad")
    assert marked == repository.culprit
    git(clone, "bisect", "reset")


def check_log_that_cannot_be_written(command: list[str], log: Path, repository: Repository) -> None:
    """The answer is printed all the same, and the log has a line of its own."""
    log.unlink()
    log.mkdir()
    done = starts.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert repository.culprit[:12] in done.stdout
    assert "bisect.log cannot be written" in done.stderr.replace("\n", " ")


def test_equal_builds_are_one_and_are_not_run(tmp_path: Path, repository: Repository) -> None:
    # With the same binary from the beginning to the end there is nothing to run but both ends.
    document = documented(bisect(repository, tmp_path, "--binary", "count"))
    assert document["commits"] == [repository.culprit]
    same = [step for step in document["steps"] if step["kind"] == "same"]
    assert same
    searched = {step["version"] for step in document["steps"] if step["kind"] == "run"}
    # Of each binary one commit is run.
    assert searched == {repository.good, repository.bad}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--build": "false"}, "the build failed"),
        ({"--build": "/no/such/command"}, "the build command is missing"),
        ({"--repository": "/"}, "not a git repository"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    tmp_path: Path, repository: Repository, change: dict[str, str], message: str
) -> None:
    command = bisect(repository, tmp_path)
    for option, value in change.items():
        command[command.index(option) + 1] = value
    done = starts.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, 3)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_ends_that_are_exchanged_are_told(tmp_path: Path, repository: Repository) -> None:
    exchanged = Repository(repository.path, repository.bad, repository.good, "")
    done = starts.run(
        bisect(exchanged, tmp_path), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode not in (0, 3)
    assert "BAD does not descend from GOOD" in done.stderr
