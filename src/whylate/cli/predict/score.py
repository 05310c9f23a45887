"""`whylate predict --score`: how forecasts did."""

from __future__ import annotations

from pathlib import Path

from whylate.cli.print_json import print_document


def show_score(directory: Path, *, as_json: bool) -> int:
    """Print how forecasts did; return the exit status. Raises RecordingError."""
    from whylate.predict.score import score_forecasts
    from whylate.predict.terminal import score_lines
    from whylate.report.plain_console import plain_console

    score = score_forecasts(directory)
    if as_json:
        print_document("score", score)
    else:
        console = plain_console()
        for line in score_lines(score):
            console.print(line)
    return 0 if score.outcomes else 3
