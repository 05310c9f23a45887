"""`whylate study show`: how a study stands."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.compare.fail_on import UNKNOWN, fail_on_option, status_of
from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.study.model import FinishedRun
    from whylate.study.restore.undo import Note
    from whylate.study.results.effects import BoardEffects
    from whylate.study.results.evidence import Standing


@click.command(name="show")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@fail_on_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(directory: Path, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Show how the study in DIR stands, at any moment: looking at it decides nothing.

    Exit status 0 where all is decided, 1 at a verdict of --fail-on, 3 where it is not over, or over
    and a comparison is inconclusive or has no verdict.
    """
    sys.exit(show_study(directory, fail_on, as_json=as_json))


def show_study(directory: Path, fail_on: Collection[str], *, as_json: bool) -> int:
    """Print a study; return the exit status. Raises RecordingError."""
    import msgspec

    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.comparison import many, print_comparison
    from whylate.study.journal import read_study
    from whylate.study.restore.undo import read_notes
    from whylate.study.results.effects import estimate_effects
    from whylate.study.results.evidence import Evidence
    from whylate.study.results.page import write_page
    from whylate.study.results.table import effects_table, standings_table
    from whylate.text import plain

    plan, done = read_study(directory)
    evidence = Evidence(directory, plan)
    standings = [
        evidence.standing(key, done) for board in plan.boards for key in evidence.keys(board)
    ]
    effects = [
        estimate_effects(plan, evidence, board, load.name, done)
        for board in plan.boards
        for load in plan.loads
        if plan.factors
    ]
    status = _status(standings, effects, fail_on)
    notes = read_notes(directory, plan.boards)
    page = write_page(directory, plan, evidence, done, effects)
    if as_json:
        document = {
            "report": str(page),
            "effects": [msgspec.to_builtins(one) for one in effects],
            "format": "whylate-study",
            "version": 1,
            "directory": str(directory),
            "comparisons": [msgspec.to_builtins(one) for one in standings],
            **many(len(standings)),
            "failed": [msgspec.to_builtins(one) for one in done if one.failed],
            "to_put_back": [msgspec.to_builtins(one) for one in notes],
        }
        print_json(document)
        return status
    console = plain_console()
    for each in effects:
        console.print(plain(f"{each.board}, {each.load}, {each.rounds} rounds", 160))
        console.print(effects_table(each) if each.why_not is None else plain(each.why_not, 400))
    if effects:
        console.print(
            "p: permutations (Freedman and Lane) over all statistics together, adjusted for all "
            "effects of a board and a load (Holm). Below: 95 % intervals.",
            style="dim",
        )
    elif len(standings) == 1 and standings[0].comparison is not None:
        print_comparison(standings[0].comparison, console)
    else:
        most = plan.stop.looks[-1]
        console.print(standings_table((one, most) for one in standings))
        _print_comparisons(standings, console)
    if any(not one.over for one in standings):
        console.print(
            "Not over: the same `study run` goes on with it. What stands above is of the last "
            "look that the plan has."
        )
    _print_failures(directory, [one for one in done if one.failed], console)
    _print_notes(notes, console)
    console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    return status


def _print_comparisons(standings: Sequence[Standing], console: Console) -> None:
    """Say of each comparison what it found, and what a careful reader wants to know of it."""
    from whylate.compare.words import more_runs_text
    from whylate.report.terminal.comparison import many_text
    from whylate.text import plain

    for one in standings:
        if one.comparison is None:
            continue
        words = f"{one.key.board}, {one.key.load}, {one.key.variant}: "
        console.print(plain(f"{words}{one.comparison.verdict}: {one.comparison.why}", 600))
        for text in one.comparison.cautions:
            console.print(f"  caution  {plain(text, 400)}")
        if one.comparison.more_runs is not None:
            console.print(f"  {more_runs_text(one.comparison.more_runs)}")
    if len(standings) > 1:
        console.print(many_text(len(standings)))


def _print_failures(directory: Path, failed: Sequence[FinishedRun], console: Console) -> None:
    """Say how many runs failed, and why the last did."""
    from whylate.text import plain

    if failed:
        where = plain(f"{directory}/runs.jsonl", 1000)
        runs = "run" if len(failed) == 1 else "runs"
        why = plain(failed[-1].failed or "", 300)
        console.print(f"{len(failed)} {runs} failed ({where}), the last: {why}")


def _status(
    standings: Sequence[Standing], effects: Sequence[BoardEffects], fail_on: Collection[str]
) -> int:
    """Return the exit status of a study; effects: where it is of factors."""
    # Of factors it is the effects that are asked for: combinations may differ or not.
    unknown = ("no verdict",) if effects else ("no verdict", "inconclusive")
    status = status_of([one.comparison for one in standings if one.comparison], fail_on, unknown)
    told = all(one.over for one in standings) and all(one.why_not is None for one in effects)
    return status or (0 if told else UNKNOWN)


def _print_notes(notes: Sequence[Note], console: Console) -> None:
    """Say which knobs are not as they were found."""
    from whylate.text import plain

    for note in notes:
        old = ", ".join(f"command:{one.name} = {one.value!r}" for one in note.old)
        console.print(
            f"Still to be put back on {plain(note.opened, 60)}: {plain(old, 400)}. A run does that "
            "when it ends; after one that was killed, the next `study run`."
        )
