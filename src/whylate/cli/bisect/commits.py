"""`whylate bisect commits`: which commit makes the difference."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.boards.board import Board
from whylate.boards.open import BoardOptions, open_board
from whylate.cli.bisect.options import output_option, statistic_option
from whylate.cli.board_options import environment_option
from whylate.cli.compare.fail_on import UNKNOWN
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.parameter_types import NewPath
from whylate.cli.print_json import json_option, print_document
from whylate.cli.run_options import new_directory
from whylate.files import sha256_of
from whylate.run.errors import RequestError
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.bisect.commits.graph import Commits
    from whylate.bisect.commits.model import CommitsPlan

_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)
_output = option_under(Heading.OUTPUT)


@click.command(name="commits", cls=GroupedCommand)
@click.argument("good")
@click.argument("bad")
@click.argument("plan", type=click.Path(path_type=Path))
@_what("--build", required=True, metavar="CMD", help="Builds a commit, in its work tree.")
@_what("--install", metavar="CMD", help="Brings a build to the board, before its runs.")
@_what("--put", multiple=True, metavar="FILE:PATH",
       help="Puts FILE of a build on the board as PATH for each run. May be repeated.")  # fmt: skip
@_what("--before", multiple=True, metavar="CMD",
       help="Runs on the board before each run, as insmod. May be repeated.")  # fmt: skip
@_what("--after", multiple=True, metavar="CMD",
       help="Runs on the board after each run, as rmmod. May be repeated.")  # fmt: skip
@_what("--repository", type=click.Path(path_type=Path), default=Path(), metavar="DIR",
       help="[default: here]")  # fmt: skip
@_what("--first-parent", is_flag=True, help="A merge counts as one commit.")
@_what("--binary", default="", metavar="FILE", help="Builds with the same FILE are one.")
@statistic_option
@_length("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True,
         metavar="P", help="End when the answer is so probable.")  # fmt: skip
@_length("--runs", type=click.IntRange(min=20), default=400, show_default=True, metavar="N",
         help="At most N runs, before those that confirm.")  # fmt: skip
@_length("--jobs", type=click.IntRange(0, 64), metavar="N",
         help="Build so many commits at a time while a board measures.  [default: 1; 0 where this "
         "machine measures itself]")  # fmt: skip
@environment_option
@output_option
@_output("--junit", type=NewPath(), metavar="FILE", help="Write JUnit XML too.")
@json_option
def command(
    good: str,
    bad: str,
    plan: Path,
    jobs: int | None,
    environment: Path | None,
    output: Path | None,
    junit: Path | None,
    as_json: bool,
    **asked: object,
) -> None:
    """Find which commit between GOOD and BAD makes the difference.

    PLAN is that of a study, without variants: its workload is run of a commit that is built, and
    {build} in it is the commit's work tree. CMD is run there, without a shell; a commit for which
    it fails cannot be built. The value of each run counts, not only whether it is good or bad; one
    commit that is found is confirmed by fresh runs of it and its parent. The repository stays as
    it is.

    Exit status: 0 there is an answer, and it is confirmed if it is one commit; 3 else.
    """
    from whylate.bisect.commits.as_json import document
    from whylate.bisect.commits.bisect_log import format_bisect_log
    from whylate.bisect.commits.carry_out import BrokenEndError, bisect_commits
    from whylate.bisect.commits.git import GitError
    from whylate.bisect.commits.graph import read_commits
    from whylate.bisect.commits.journal import CommitsJournal
    from whylate.bisect.commits.junit import junit_of
    from whylate.bisect.commits.words import lines_of
    from whylate.cli.bisect.commits_view import CommitsView
    from whylate.files import write_whole
    from whylate.report.plain_console import plain_console

    repository = asked["repository"]
    assert isinstance(repository, Path)  # noqa: S101 (click made it)
    try:
        commits = read_commits(repository, good, bad, first_parent=bool(asked["first_parent"]))
    except GitError as error:
        raise RequestError(str(error)) from None
    wanted = _plan(commits, plan, asked)
    directory = output or new_directory("bisections")

    def open_for(name: str) -> Board:
        return open_board(name, BoardOptions(environment=environment))

    interrupt = Interrupt()
    with CommitsJournal(directory, wanted) as journal, CommitsView(wanted, commits) as view:
        try:
            result = bisect_commits(
                journal, commits, plan, open_for, view, interrupt.wanted, _jobs(plan, jobs)
            )
        except (BrokenEndError, GitError) as error:
            raise RequestError(str(error)) from None
        steps = journal.lines
    if result.answer is not None:
        measured = [commits.place(step.commit) for step in steps if step.kind == "run"]
        failed = {commits.place(step.commit) for step in steps if step.kind == "unbuildable"}
        log = format_bisect_log(commits, result.answer, measured, failed)
        write_whole(directory / "bisect.log", log.encode())
    if junit is not None:
        write_whole(junit, junit_of(wanted, commits, steps, result))
    if as_json:
        print_document("bisect-commits", document(wanted, commits, steps, result, directory))
    else:
        console = plain_console()
        for line in lines_of(wanted, commits, steps, result):
            console.print(plain(line, 1000), soft_wrap=True)
    confirmed = result.confirmation is not None and result.confirmation.confirmed
    is_single = result.answer is not None and len(result.answer.versions) == 1
    sys.exit(0 if result.answer is not None and (confirmed or not is_single) else UNKNOWN)


def _plan(commits: Commits, path: Path, asked: dict[str, object]) -> CommitsPlan:
    """Return the plan of a bisection; raises RequestError."""
    from whylate.bisect.commits.board_files import check_put
    from whylate.bisect.commits.carry_out import run_plan
    from whylate.bisect.commits.model import CommitsPlan
    from whylate.bisect.outcome import statistic_of_workload
    from whylate.run.preparation.model import parse_commands

    _, plan = run_plan(path, Path("/build"))
    statistic, build = asked["statistic"], _words("--build", asked["build"])
    if not build:
        raise RequestError("--build has no command")
    return CommitsPlan(
        repository=str(asked["repository"]),
        good=commits.hashes[0],
        bad=commits.hashes[-1],
        first_parent=bool(asked["first_parent"]),
        build=build,
        install=_words("--install", asked["install"]),
        put=check_put(_texts(asked["put"])),
        before=parse_commands("--before", _texts(asked["before"])),
        after=parse_commands("--after", _texts(asked["after"])),
        binary=str(asked["binary"]),
        plan_sha256=sha256_of(path),
        statistic=statistic_of_workload(
            plan.workload, None if statistic is None else str(statistic)
        ),
        confidence=float(str(asked["confidence"])),
        runs=int(str(asked["runs"])),
        seed=plan.seed,
    )


def _jobs(path: Path, asked: int | None) -> int:
    """Return how many commits are built while another is run; raises RequestError.

    A build would make what this machine measures later, in real time.
    """
    from whylate.bisect.commits.carry_out import run_plan
    from whylate.lab.description import names

    board, plan = run_plan(path, Path("/build"))
    here = board == "local" or (board in names() and not plan.virtual_time)
    return int(not here) if asked is None else asked


def _words(option: str, text: object) -> list[str]:
    """Return the words of a command, as a shell splits them; raises RequestError."""
    try:
        return shlex.split("" if text is None else str(text))
    except ValueError as error:
        raise RequestError(f"{option}: {error}") from None


def _texts(value: object) -> list[str]:
    """Return the texts of an option that may be repeated."""
    assert isinstance(value, tuple)  # noqa: S101 (click made it)
    return [str(text) for text in value]
