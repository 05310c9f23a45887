"""`whylate report` of an imported recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from whylate.cli.print_json import print_json
from whylate.cli.report.outcomes import STATUS
from whylate.recording.imported.recording import read_imported
from whylate.report.plain_console import plain_console


def report_imported(directory: Path, requirements: Sequence[str], *, as_json: bool) -> int:
    """Print the summary of an imported recording; return the exit status.

    Raises RecordingError, and click.UsageError for limits on numbers.
    """
    from whylate.report.terminal.imported import print_imported
    from whylate.summary.imported import NumbersSummary, summarize_imported, verdict_of

    imported = read_imported(directory)
    summary = summarize_imported(imported, requirements)
    if isinstance(summary, NumbersSummary) and requirements:
        raise click.UsageError("--require is for latencies, and these are numbers")
    verdict = verdict_of([] if isinstance(summary, NumbersSummary) else summary.requirements)
    if as_json:
        document = {
            "format": "whylate-import-summary",
            "version": 1,
            "verdict": verdict,
            **msgspec.to_builtins(summary),
        }
        print_json(document)
    else:
        print_imported(summary, plain_console())
    return STATUS[verdict]
