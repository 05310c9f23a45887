"""Printing a recording: the same for `measure`, when it is done, and for `report`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

#: Exit status for what became of the requirements, or of the run without any.
STATUS = {"pass": 0, "fail": 1, "inconclusive": 3, "no verdict": 3}


def show(
    directory: Path,
    requirements: Sequence[str],
    *,
    as_json: bool,
    page: Path | None = None,
) -> int:
    """Print a recording, write its HTML page, and return the exit status.

    Raises RecordingError.
    """
    import msgspec
    from rich.console import Console

    from whylate.recording.errors import RecordingError
    from whylate.recording.reader import open_recording
    from whylate.report.html import write_report
    from whylate.report.terminal import print_summary
    from whylate.summary.as_json import to_json
    from whylate.summary.summarize import summarize
    from whylate.summary.verdicts import overall

    recording = open_recording(directory)
    summary = summarize(recording.samples, recording.manifest, str(directory), requirements)
    page = page if page is not None else directory / "report.html"
    try:
        write_report(page, summary, recording.manifest, recording.samples)
    except OSError as error:
        raise RecordingError(f"{page} cannot be written: {error.strerror}") from None
    if as_json:
        document = {**to_json(summary), "report": str(page)}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.flush()
    else:
        print_summary(summary, Console(highlight=False), str(page))
    return STATUS[overall(summary.requirements, summary.trust)]
