"""Printing recordings of latencies: the same for `measure`, when it is done, and for `report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from whylate.cli.messages import writing
from whylate.cli.print_json import print_document, print_json
from whylate.cli.report.outcomes import STATUS, worst_status
from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.report.plain_console import plain_console

if TYPE_CHECKING:
    from whylate.causes.answer import Answer
    from whylate.report.exports.trackers import Exported
    from whylate.run.several import Outcome
    from whylate.summary.model import Summary


def show_several(outcomes: Sequence[Outcome], requirements: Sequence[str], *, as_json: bool) -> int:
    """Print the runs of several boards, or repetitions of one; return the worst exit status.

    Each run has its report beside its recording. Raises RecordingError.
    """
    from whylate.report.terminal.runs import print_failure, print_pooled, print_runs
    from whylate.summary.pooled import pool

    console = plain_console()
    worst = 0
    documents = []
    pooled = []
    for name in dict.fromkeys(outcome.job.name for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.job.name == name]
        summaries = []
        for outcome in mine:
            summary, document, status = _outcome(outcome, requirements)
            worst = worst_status(worst, status)
            summaries += [summary] if summary is not None else []
            documents.append(document)
        together = pool(summaries)
        if len(summaries) > 1:
            pooled.append({"board": name, **msgspec.to_builtins(together)})
        if as_json:
            continue
        if summaries:
            print_runs(name, summaries, console)
        if len(summaries) > 1:
            print_pooled(together, console)
        for outcome in mine:
            if outcome.error is not None:
                print_failure(name, str(outcome.error), console)
    if as_json:
        print_document("runs", {"runs": documents, "pooled": pooled})
    return worst


def _outcome(
    outcome: Outcome, requirements: Sequence[str]
) -> tuple[Summary | None, dict[str, object], int]:
    """Return the summary of a run if it has one, its JSON, and its exit status."""
    from whylate.summary.as_json import to_json

    summary, status = None, 0
    document: dict[str, object] = {"board": outcome.job.name}
    if outcome.recorded:
        summary, page, status, _ = _write(outcome.job.directory, requirements)
        document = {**to_json(summary), "report": str(page)}
    if outcome.error is not None:
        document["error"] = str(outcome.error)
        status = worst_status(status, STATUS["no verdict"])
    return summary, document, status


def _write(
    directory: Path, requirements: Sequence[str], page: Path | None = None
) -> tuple[Summary, Path, int, Answer]:
    """Summarise a recording and write its HTML page; raises RecordingError."""
    from whylate.causes.answer import explain_recording
    from whylate.report.page.latency import write_report
    from whylate.summary.sections import count_executions_of
    from whylate.summary.summarize import summarize
    from whylate.summary.verdicts import overall

    recording = open_recording(directory)
    summary = summarize(
        recording.series, recording.manifest, str(directory), requirements, recording.executions
    )
    page = page if page is not None else directory / "report.html"
    answer = explain_recording(recording)
    counted = count_executions_of(recording.manifest, recording.executions, summary.section)
    with writing(page, RecordingError):
        write_report(page, summary, recording.manifest, recording.series, answer, counted)
    return summary, page, STATUS[overall(summary.requirements, summary.trust)], answer


def show(
    directory: Path,
    requirements: Sequence[str],
    *,
    as_json: bool,
    page: Path | None = None,
    also: Callable[[Exported], None] | None = None,
) -> int:
    """Print a recording, write its HTML page, and return the exit status; raises RecordingError.

    also: called with the figures, to export them.
    """
    from whylate.cli.report.forecasts import outcomes_beside, print_any
    from whylate.report.causes import answer_line
    from whylate.report.exports.trackers import of_latencies
    from whylate.report.terminal.latency import print_summary
    from whylate.summary.as_json import to_json

    summary, page, status, answer = _write(directory, requirements, page)
    if also is not None:
        also(of_latencies(summary))
    outcomes = outcomes_beside(directory, open_recording(directory))
    if as_json:
        predicted = {"predicted": outcomes} if outcomes else {}
        print_json({**to_json(summary), **predicted, "report": str(page)})
    else:
        why = answer_line(answer, str(directory)) if answer.population is not None else None
        console = plain_console()
        print_summary(summary, console, str(page), why)
        print_any(outcomes, console)
    return status
