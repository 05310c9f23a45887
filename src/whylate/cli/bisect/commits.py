"""`whylate bisect commits`: which commit makes the difference."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.bisect.options import (
    confidence_option,
    junit_option,
    output_option,
    statistic_option,
)
from whylate.cli.board_options import environment_option, opener_of, wait_option, waiting_shown
from whylate.cli.interrupt import Interrupt
from whylate.cli.messages import print_message
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.print_json import json_option
from whylate.cli.run_options import new_directory
from whylate.files import sha256_of
from whylate.run.errors import RequestError

if TYPE_CHECKING:
    from whylate.bisect.commits.graph import Commits
    from whylate.bisect.commits.model import CommitsPlan

_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)


@click.command(name="commits", cls=GroupedCommand)
@click.argument("good")
@click.argument("bad")
@click.argument("plan", type=click.Path(path_type=Path))
@_what("--build", metavar="CMD", help="Builds a commit, in its work tree.")
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
@_what("--binary", metavar="FILE", help="Builds with the same FILE are one.")
@statistic_option
@confidence_option
@_length("--runs", type=click.IntRange(min=20), default=400, show_default=True, metavar="N",
         help="At most N runs, before those that confirm.")  # fmt: skip
@_length("--jobs", type=click.IntRange(0, 64), metavar="N",
         help="Build so many commits at a time while a board measures.  [default: 1; 0 where this "
         "machine measures itself]")  # fmt: skip
@environment_option
@wait_option
@output_option
@junit_option
@json_option
def command(
    good: str,
    bad: str,
    plan: Path,
    jobs: int | None,
    environment: Path | None,
    wait_ns: int,
    output: Path | None,
    junit: Path | None,
    as_json: bool,
    **asked: object,
) -> None:
    """Find which commit between GOOD and BAD makes the difference.

    PLAN is that of a study, without variants: its workload is run of a commit that is built, and
    {build} in it is the commit's work tree; its table [commits] may have the options build,
    install, put, before, after and binary, and [commits.boot] what the board boots of a build. CMD
    is run there, without a shell; a commit for which it fails cannot be built. The value of each
    run counts, not only whether it is good or bad; one commit that is found is confirmed by fresh
    runs of it and its parent. The repository stays as it is.

    Exit status: 0 there is an answer, and it is confirmed if it is one commit; 3 else.
    """
    from whylate.bisect.commits.bisect_log import format_bisect_log
    from whylate.bisect.commits.git import GitError
    from whylate.bisect.commits.graph import read_commits
    from whylate.bisect.commits.journal import LAYOUT
    from whylate.bisect.commits.versions import CommitVersions
    from whylate.bisect.ordered.carry_out import BrokenEndError, bisect_ordered
    from whylate.bisect.ordered.journal import OrderedJournal
    from whylate.cli.bisect.ordered_result import show_ordered_result
    from whylate.cli.bisect.ordered_view import OrderedView
    from whylate.cli.bisect.resumable import resumable
    from whylate.files import write_whole
    from whylate.study.plan_file import read_plan_file

    repository = asked["repository"]
    assert isinstance(repository, Path)  # noqa: S101 (click made it)
    try:
        commits = read_commits(repository, good, bad, first_parent=bool(asked["first_parent"]))
    except GitError as error:
        raise RequestError(str(error)) from None
    wanted = commits_plan(commits, plan, asked)
    directory = output or new_directory("bisections")

    file = read_plan_file(plan)
    interrupt = Interrupt()
    waiting = waiting_shown(wait_ns / 1e9, interrupt, lambda: view)
    open_for = opener_of(file.boards, file.smp, environment, waiting)
    versions = CommitVersions(
        wanted, commits, directory, plan, open_for, interrupt.wanted, _jobs(plan, jobs)
    )
    with (
        resumable(directory),
        closing(versions),
        OrderedJournal(directory, LAYOUT, wanted) as journal,
        OrderedView(wanted, versions, journal.lines) as view,
    ):
        is_over = False
        try:
            result = bisect_ordered(journal, versions, view, interrupt.wanted)
            is_over = result.answer is not None
        except (BrokenEndError, GitError) as error:
            raise RequestError(str(error)) from None
        finally:
            if reason := versions.leave(view.observer(versions.boards[0]), over=is_over):
                print_message(reason)
        steps = journal.lines
    if result.answer is not None:
        measured = [commits.place(step.version) for step in steps if step.kind == "run"]
        failed = {commits.place(step.version) for step in steps if step.kind == "unbuildable"}
        log = format_bisect_log(commits, result.answer, measured, failed)
        try:
            write_whole(directory / "bisect.log", log.encode())
        except OSError as error:
            # The answer is printed all the same.
            path = directory / "bisect.log"
            print_message(f"{path} cannot be written: {error.strerror}")
    show_ordered_result(wanted, versions, steps, result, directory, junit=junit, as_json=as_json)


def commits_plan(commits: Commits, path: Path, asked: dict[str, object]) -> CommitsPlan:
    """Return the plan of a bisection; raises RequestError."""
    import msgspec

    from whylate.bisect.commits.board_files import check_put
    from whylate.bisect.commits.boot import read_boot
    from whylate.bisect.commits.model import CommitsPlan
    from whylate.bisect.commits.versions import run_plan
    from whylate.bisect.outcome import statistic_of_workload
    from whylate.run.preparation.model import parse_commands
    from whylate.study.plan_file import CommitKeys, read_plan_file

    boards, plan = run_plan(path, Path("/build"))
    keys = msgspec.to_builtins(read_plan_file(path).commits or CommitKeys())
    del keys["boot"]  # no option
    # An option replaces the key of the plan.
    asked = asked | {name: asked[name] or keys[name] for name in keys}
    statistic, build = asked["statistic"], _words("--build", asked["build"])
    if len(boards) > 1 and asked["install"]:
        raise RequestError("--install brings a build to one board: with several use --put")
    if not build:
        raise RequestError(
            f"name the command that builds a commit: --build CMD, or build in [commits] of {path}"
        )
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
        boot=read_boot(path),
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
    from whylate.bisect.commits.versions import run_plan
    from whylate.lab.description import names

    boards, plan = run_plan(path, Path("/build"))
    here = any(board == "local" or (board in names() and not plan.virtual_time) for board in boards)
    return int(not here) if asked is None else asked


def _words(option: str, text: object) -> list[str]:
    """Return the words of a command, as a shell splits them; raises RequestError."""
    try:
        return shlex.split("" if text is None else str(text))
    except ValueError as error:
        raise RequestError(f"{option}: {error}") from None


def _texts(value: object) -> list[str]:
    """Return the texts of an option that may be repeated."""
    assert isinstance(value, tuple | list)  # noqa: S101 (click or msgspec made it)
    return [str(text) for text in value]
