"""Printing imported recordings for `report`; of executions with counters there is a page too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whylate.cli.messages import writing
from whylate.cli.print_json import print_document
from whylate.cli.report.outcomes import STATUS
from whylate.recording.errors import RecordingError
from whylate.report.plain_console import plain_console

if TYPE_CHECKING:
    from whylate.recording.imported.executions.model import Executions
    from whylate.recording.imported.recording import ImportedRecording


def refuse_options(given: Mapping[str, object]) -> None:
    """Raise click.UsageError for the first option that was given and takes more than imports have.

    given: values by option; None: not given.
    """
    for option, value in given.items():
        if value is not None:
            raise click.UsageError(f"{option} is not for imported recordings: they have no "
                                   "intervals and no complete sample accounting")  # fmt: skip


def show_imported(
    directory: Path, requirements: Sequence[str], page: Path | None, *, as_json: bool
) -> int:
    """Print the summary of an imported recording; return the exit status.

    page: where to write that of executions; None: beside the recording. Raises RecordingError, and
    click.UsageError for limits on what is no latency.
    """
    from whylate.recording.imported.executions.model import Executions
    from whylate.recording.imported.recording import read_imported
    from whylate.report.terminal.imported import print_imported
    from whylate.summary.imported import ImportedSummary, summarize_imported, verdict_of

    imported = read_imported(directory)
    if isinstance(imported.data, Executions):
        if requirements:
            raise click.UsageError("--require is for latencies, and these are executions")
        return _show_executions(imported, imported.data, page, as_json=as_json)
    refuse_options({"--output": page})
    summary = summarize_imported(imported, requirements)
    limits = summary.requirements if isinstance(summary, ImportedSummary) else []
    if requirements and not isinstance(summary, ImportedSummary):
        raise click.UsageError("--require is for latencies, and these are numbers")
    verdict = verdict_of(limits)
    if as_json:
        print_document("import-summary", {"verdict": verdict, **msgspec.to_builtins(summary)})
    else:
        print_imported(summary, plain_console())
    return STATUS[verdict]


def _show_executions(
    imported: ImportedRecording, data: Executions, page: Path | None, *, as_json: bool
) -> int:
    """Print executions and write their page; return the exit status."""
    from whylate.report.page.executions import write_executions
    from whylate.report.terminal.imported import print_imported
    from whylate.summary.executions import count_executions, summarize_executions

    counted = count_executions(data, str(imported.directory))
    summary = summarize_executions(imported, counted)
    page = page if page is not None else imported.directory / "report.html"
    with writing(page, RecordingError):
        write_executions(page, summary, counted)
    if as_json:
        document = {"verdict": "pass", **msgspec.to_builtins(summary), "report": str(page)}
        print_document("import-summary", document)
    else:
        print_imported(summary, plain_console(), str(page))
    return 0
