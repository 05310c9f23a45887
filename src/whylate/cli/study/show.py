"""`whylate study show`: the state of a study."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.compare.fail_on import UNKNOWN, exit_status, fail_on_option
from whylate.cli.messages import print_message
from whylate.cli.print_json import json_option, print_document
from whylate.text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.study.results.effects import BoardEffects
    from whylate.study.results.evidence import Standing


@click.command(name="show")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@fail_on_option
@json_option
def command(directory: Path, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Show the state of the study in DIR, at any moment. This decides nothing.

    Exit status: 0 every comparison has a verdict, 1 a verdict of --fail-on, 3 the study is not
    over, or a comparison is inconclusive or has no verdict.
    """
    sys.exit(show_study(directory, fail_on, as_json=as_json))


def show_study(directory: Path, fail_on: Collection[str], *, as_json: bool) -> int:
    """Print a study and write its page; return the exit status. Raises RecordingError."""
    from whylate.predict.terminal import print_outcomes
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.comparison import many
    from whylate.study.journal import read_study
    from whylate.study.restore.undo import read_notes
    from whylate.study.results.effects import estimate_effects
    from whylate.study.results.evidence import Evidence
    from whylate.study.results.forecasts import study_outcomes
    from whylate.study.results.page import write_page

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
    failed = [run for run in done if run.failed]
    notes = read_notes(directory, plan.boards)
    page = write_page(directory, plan, evidence, done, effects)
    outcomes = study_outcomes(directory, done)
    if as_json:
        content = {
            "report": str(page),
            "effects": effects,
            "directory": str(directory),
            "comparisons": standings,
            **many(len(standings)),
            "failed": failed,
            "to_put_back": notes,
            **({"predicted": outcomes} if outcomes else {}),
        }
        print_document("study", content)
        return _exit_status(standings, effects, fail_on)
    console = plain_console()
    if effects:
        _print_effects(effects, console)
    else:
        _print_comparisons(standings, plan.stop.looks[-1], console)
    if not all(standing.over for standing in standings):
        console.print(
            "Not over: the same `study run` resumes it. The figures above are of its last "
            "scheduled look."
        )
    if failed:
        runs = "run" if len(failed) == 1 else "runs"
        reason = plain(failed[-1].failed or "", 300)
        journal = plain(f"{directory}/runs.jsonl", 1000)
        kept = f"; {failed[-1].recording} has what it left" if failed[-1].recording else ""
        console.print(
            f"{len(failed)} {runs} failed ({journal}), the last: {reason}{plain(kept, 200)}"
        )
    for note in notes:
        old = ", ".join(f"command:{knob.name} = {knob.value!r}" for knob in note.old)
        console.print(
            f"Not restored yet on {plain(note.opened, 60)}: {plain(old, 400)}. A run restores its "
            "knobs at its end; after a killed one, the next `study run` does."
        )
    print_outcomes(outcomes, console)
    console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    return _exit_status(standings, effects, fail_on)


def _print_effects(effects: Sequence[BoardEffects], console: Console) -> None:
    """Print the effects of factors on each board under each load."""
    from whylate.study.results.table import effects_table

    for board in effects:
        console.print(plain(f"{board.board}, {board.load}, {board.rounds} rounds", 160))
        reason = board.why_not
        console.print(effects_table(board) if reason is None else plain(reason, 400))
    console.print(
        "p: permutations (Freedman and Lane) over all statistics together, adjusted for all "
        "effects of a board and a load (Holm). Below: 95 % intervals.",
        style="dim",
    )


def _print_comparisons(standings: Sequence[Standing], rounds: int, console: Console) -> None:
    """Print a single comparison in full, several in a table; rounds: of the whole study."""
    from whylate.compare.words import more_runs_text
    from whylate.report.terminal.comparison import many_text, print_comparison
    from whylate.study.results.table import standings_table

    if len(standings) == 1 and standings[0].comparison is not None:
        print_comparison(standings[0].comparison, console)
        return
    console.print(standings_table((standing, rounds) for standing in standings))
    for standing in standings:
        key, comparison = standing.key, standing.comparison
        if comparison is None:
            continue
        name = f"{key.board}, {key.load}, {key.variant}"
        console.print(plain(f"{name}: {comparison.verdict}: {comparison.why}", 600))
        for caution in comparison.cautions:
            console.print(f"  caution  {plain(caution, 400)}")
        if comparison.more_runs is not None:
            console.print(f"  {more_runs_text(comparison.more_runs)}")
    if len(standings) > 1:
        console.print(many_text(len(standings)))


def _exit_status(
    standings: Sequence[Standing], effects: Sequence[BoardEffects], fail_on: Collection[str]
) -> int:
    """Return the exit status of a study; effects: of a study of factors."""
    # A study of factors asks for effects: its combinations may be inconclusive.
    unknown = ("no verdict",) if effects else ("no verdict", "inconclusive")
    comparisons = [standing.comparison for standing in standings if standing.comparison]
    over = all(standing.over for standing in standings)
    estimated = all(board.why_not is None for board in effects)
    status = exit_status(comparisons, fail_on, unknown)
    return status or (0 if over and estimated else UNKNOWN)


def print_lost(lost: Mapping[str, str]) -> None:
    """Print the boards that were given up, and why, on standard error."""
    for board, reason in lost.items():
        print_message(f"{board[:60]} was given up: {reason}")
