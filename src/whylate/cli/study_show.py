"""`whylate study show`: how a study stands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.study.undo import Note

#: Exit status where not everything is decided.
UNDECIDED = 3


@click.command(name="show")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(directory: Path, as_json: bool) -> None:
    """Show how the study in DIR stands, at any moment: looking at it decides nothing."""
    sys.exit(show_study(directory, as_json=as_json))


def show_study(directory: Path, *, as_json: bool) -> int:
    """Print a study; return the exit status. Raises RecordingError."""
    import msgspec
    from rich.console import Console

    from whylate.report.comparison import print_comparison
    from whylate.report.text import plain
    from whylate.study.effects import effects_of
    from whylate.study.evidence import Evidence
    from whylate.study.journal import read_study
    from whylate.study.page import write_page
    from whylate.study.table import effects_table, standings_table
    from whylate.study.undo import notes_of

    plan, done = read_study(directory)
    evidence = Evidence(directory, plan)
    standings = [evidence.of(key, done) for board in plan.boards for key in evidence.keys(board)]
    status = 0 if all(one.over for one in standings) else UNDECIDED
    if any(one.found is not None and one.found.verdict == "no verdict" for one in standings):
        status = UNDECIDED
    effects = [
        effects_of(plan, evidence, board, load.name, done)
        for board in plan.boards
        for load in plan.loads
        if plan.factors
    ]
    notes = notes_of(directory, plan.boards)
    page = write_page(directory, plan, evidence, done, effects)
    if as_json:
        document = {
            "report": str(page),
            "effects": [msgspec.to_builtins(one) for one in effects],
            "format": "whylate-study",
            "version": 1,
            "directory": str(directory),
            "comparisons": [msgspec.to_builtins(one) for one in standings],
            "failed": [msgspec.to_builtins(one) for one in done if one.failed],
            "to_put_back": [msgspec.to_builtins(one) for one in notes],
        }
        print_json(document)
        return status
    console = Console(highlight=False)
    for each in effects:
        console.print(f"{plain(each.board, 60)}, {each.load}, {each.rounds} rounds")
        console.print(effects_table(each) if each.why_not is None else plain(each.why_not, 400))
    if effects:
        console.print(
            "p: permutations (Freedman and Lane) over all statistics together, adjusted for all "
            "effects of a board and a load (Holm). Below: 95 % intervals.",
            style="dim",
        )
    elif len(standings) == 1 and standings[0].found is not None:
        print_comparison(standings[0].found, console)
    else:
        most = plan.stop.looks[-1]
        console.print(standings_table((one, most) for one in standings))
        for one in standings:
            if one.found is not None:
                words = f"{one.key.board}, {one.key.load}, {one.key.variant}: "
                console.print(plain(f"{words}{one.found.verdict}: {one.found.why}", 600))
    if any(not one.over for one in standings):
        console.print(
            "Not over: the same `study run` goes on with it. What stands above is of the last "
            "look that the plan has."
        )
    failed = sum(bool(one.failed) for one in done)
    if failed:
        console.print(f"{failed} runs failed and were made again ({directory}/runs.jsonl).")
    _print_notes(notes, console)
    console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    return status


def _print_notes(notes: Sequence[Note], console: Console) -> None:
    """Say which knobs are not as they were found."""
    from whylate.report.text import plain

    for note in notes:
        old = ", ".join(f"command:{one.name} = {one.value!r}" for one in note.old)
        console.print(
            f"Still to be put back on {plain(note.opened, 60)}: {plain(old, 400)}. A run does that "
            "when it ends; after one that was killed, the next `study run`."
        )
