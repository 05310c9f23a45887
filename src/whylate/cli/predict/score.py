"""`whylate predict --score`, and forecasts beside a new recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whylate.cli.print_json import print_document
from whylate.report.plain_console import plain_console

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.predict.score import Outcome


def show_score(directory: Path, *, as_json: bool) -> int:
    """Print how forecasts did; return the exit status. Raises RecordingError."""
    from whylate.predict.score import score_forecasts
    from whylate.predict.table import score_lines

    score = score_forecasts(directory)
    if as_json:
        print_document("score", score)
    else:
        console = plain_console()
        for line in score_lines(score):
            console.print(line)
    return 0 if score.outcomes else 3


def print_outcomes(outcomes: list[Outcome], console: Console) -> None:
    """Print what was predicted beside what was measured; nothing where nothing was."""
    if not outcomes:
        return
    from whylate.predict.table import outcome_table

    console.print("predicted earlier, and measured now:")
    console.print(outcome_table(outcomes))
