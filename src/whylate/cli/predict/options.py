"""What the models have in common: keeping forecasts, and printing them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import refuse_imported
from whylate.cli.print_json import json_option, print_document
from whylate.recording.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from whylate.predict.forecast import Answer, Forecast
    from whylate.recording.reader import Recording

#: Of verbs that make forecasts.
keep_option = click.option("--no-keep", is_flag=True,
                            help="Do not write the forecasts into the recording.")  # fmt: skip


def forecast_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the recording, --no-keep and --json."""
    path = click.argument("directory", type=click.Path(path_type=Path), metavar="RECORDING")
    return path(keep_option(json_option(verb)))


def open_benchmark(directory: Path) -> Recording:
    """Open the recording of a benchmark; raises LackingError for an imported one."""
    from whylate.recording.reader import open_recording

    refuse_imported([directory], "what models are fitted to: whylate bench records it")
    return open_recording(directory)


def show_answer(answer: Answer, keep_in: Path | None, *, as_json: bool) -> int:
    """Print forecasts, keep them, and return the exit status; raises RecordingError, DiskError.

    keep_in: the directory of the recording; None: they are not kept.
    """
    from whylate.predict.terminal import answer_lines
    from whylate.report.plain_console import plain_console

    print_answer("forecasts", answer, answer_lines(answer), as_json=as_json)
    if keep_in is not None and answer.forecasts:
        kept = keep_printed(keep_in, answer.forecasts)
        if not as_json:
            plain_console().print(f"kept  {kept}", soft_wrap=True)
    return 0 if answer.forecasts else 3


def print_answer(
    kind: str, answer: object, lines: Iterable[RenderableType], *, as_json: bool
) -> None:
    """Print an answer as a JSON document of this kind, or its lines for people."""
    from whylate.report.plain_console import plain_console

    if as_json:
        print_document(kind, answer)
        return
    console = plain_console()
    for line in lines:
        console.print(line)


def keep_printed(directory: Path, forecasts: Sequence[Forecast]) -> Path:
    """Keep forecasts that were printed; raises RecordingError, DiskError with what to do."""
    from whylate.predict.store import keep_forecasts

    try:
        return keep_forecasts(directory, forecasts)
    except RecordingError as error:
        raise type(error)(
            f"{error}. The forecasts are not kept: --no-keep prints them alone"
        ) from None
