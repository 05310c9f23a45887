"""Printing recordings of benchmarks: the same for `bench`, when it is done, and for `report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from whylate.cli.messages import print_message, writing
from whylate.cli.print_json import print_document, print_json
from whylate.cli.report.outcomes import STATUS, show_single
from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.report.plain_console import plain_console

if TYPE_CHECKING:
    from whylate.report.exports.trackers import Exported
    from whylate.run.several import Outcome


def show_benchmarks(
    outcomes: Sequence[Outcome], *, as_json: bool, predict: Sequence[int] = ()
) -> int:
    """Print the runs of one or several boards; return the worst exit status.

    Raises the error of a single run that has no recording.
    """
    import click

    if len(outcomes) == 1:
        return show_single(outcomes[0], partial(show_benchmark, as_json=as_json, predict=predict))
    worst = 0
    documents: list[dict[str, object]] = []
    for number, outcome in enumerate(outcomes):
        document: dict[str, object] = {"board": outcome.job.name}
        status = 0
        if outcome.recorded:
            if number and not as_json:
                click.echo()
            directory = outcome.job.directory
            document, status = _write_and_print(directory, None, predict, as_json=as_json)
        if outcome.error is not None:
            document["error"] = str(outcome.error)
            print_message(f"{outcome.job.name}: {outcome.error}")
            status = 3
        worst = max(worst, status)
        documents.append(document)
    if as_json:
        print_document("runs", {"runs": documents, "pooled": []})
    return worst


def show_benchmark(
    directory: Path,
    *,
    as_json: bool,
    page: Path | None = None,
    predict: Sequence[int] = (),
    also: Callable[[Exported], None] | None = None,
) -> int:
    """Print a recording, write its page, and return the exit status; raises RecordingError.

    also: called with the figures, to export them.
    """
    document, status = _write_and_print(directory, page, predict, as_json=as_json, also=also)
    if as_json:
        print_json(document)
    return status


def _write_and_print(
    directory: Path,
    page: Path | None,
    predict: Sequence[int],
    *,
    as_json: bool,
    also: Callable[[Exported], None] | None = None,
) -> tuple[dict[str, object], int]:
    """Write the page of a recording, print it unless as JSON; return that and the exit status."""
    from whylate.cli.report.forecasts import outcomes_beside, print_any
    from whylate.report.exports.trackers import of_benchmark
    from whylate.report.page.benchmark import write_benchmark
    from whylate.report.terminal.benchmark import print_benchmark
    from whylate.summary.as_json import benchmark_json
    from whylate.summary.workloads import summarize_benchmark

    recording = open_recording(directory)
    summary = summarize_benchmark(
        recording.manifest, recording.repetitions, str(directory), predict
    )
    page = page if page is not None else directory / "report.html"
    with writing(page, RecordingError):
        write_benchmark(page, summary, recording.manifest)
    if also is not None:
        also(of_benchmark(summary))
    outcomes = outcomes_beside(directory, recording)
    if not as_json:
        console = plain_console()
        print_benchmark(summary, console, str(page))
        print_any(outcomes, console)
    status = 0 if summary.trust.verdict == "ok" else STATUS["no verdict"]
    predicted = {"predicted": outcomes} if outcomes else {}
    return {**benchmark_json(summary), **predicted, "report": str(page)}, status
