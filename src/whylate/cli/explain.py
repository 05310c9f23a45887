"""`whylate explain`: why was it late?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.quantities import Duration

if TYPE_CHECKING:
    from whylate.causes.answer import Story


@click.command(name="explain")
@click.argument("directory", type=click.Path(path_type=Path), metavar="RECORDING")
@click.option("--threshold", "threshold_ns", type=Duration(), metavar="TIME",
              help="What counts as late.  [default: as recorded, or the 99.9th percentile]",
              )  # fmt: skip
@click.option("--worst", "stories", type=click.IntRange(0, 100), default=0, metavar="N",
              help="Tell the stories of the N worst, piece by piece.")  # fmt: skip
@click.option("--perfetto", "trace", type=click.Path(path_type=Path, dir_okay=False),
              metavar="FILE", help="Write the windows as a trace for ui.perfetto.dev.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path, threshold_ns: int | None, stories: int, trace: Path | None, as_json: bool
) -> None:
    """Say where the late activations of RECORDING spent their time.

    Of each, the time from due to run is cut into pieces, each with one cause; what nothing shows
    is unexplained, and what was not recorded is not observed. The shares are of the time that late
    activations took beyond ordinary ones, and sum to 100 %.

    Exit status 3: it cannot be explained, and why.
    """
    from rich.console import Console

    from whylate.causes.answer import answer_of, stories_of
    from whylate.causes.as_json import answer_as_json
    from whylate.recording.reader import open_recording
    from whylate.report.causes import print_answer

    recording = open_recording(directory)
    found = answer_of(recording, threshold_ns=threshold_ns, stories=max(stories, 1))
    if as_json:
        sys.stdout.write(json.dumps(answer_as_json(found, stories), indent=2) + "\n")
    else:
        print_answer(found, Console(highlight=False), stories)
    if trace is not None:
        _write_trace(trace, lambda: stories_of(recording))
    sys.exit(0 if found.population is not None else 3)


def _write_trace(trace: Path, stories: Callable[[], Iterable[Story]]) -> None:
    """Write the trace and say what is in it; raises RecordingError."""
    from whylate.recording.errors import RecordingError
    from whylate.report.perfetto import write_perfetto
    from whylate.report.text import plain

    try:
        written = write_perfetto(trace, stories)
    except OSError as error:
        raise RecordingError(f"{trace} cannot be written: {error.strerror}") from None
    if not written.windows:
        click.echo(f"whylate: no window was recorded: {plain(str(trace), 400)} was not written",
                   err=True)  # fmt: skip
        return
    rest = f", {written.left_out:,} more were too many" if written.left_out else ""
    click.echo(
        f"whylate: {plain(str(trace), 400)} has {written.windows:,} windows{rest}: open it at "
        "ui.perfetto.dev",
        err=True,
    )
