"""Printing several recordings beside each other for `report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from whylate.cli.messages import refuse_imported, writing
from whylate.cli.print_json import print_document
from whylate.cli.report.outcomes import STATUS, worst_status
from whylate.compare.made_experiments import RESULT
from whylate.recording.errors import DiskError
from whylate.report.plain_console import plain_console

#: Where the page goes if nothing else is said: in no recording, for it is of several.
DEFAULT_PAGE = Path("overlay.html")


def is_experiment(directory: Path) -> bool:
    """Whether a directory is that of an experiment with runs of its own, and its result."""
    return (directory / RESULT).is_file()


def refuse_for_several(given: Mapping[str, object]) -> None:
    """Raise click.UsageError for the first option that was given and is for one recording."""
    for option, value in given.items():
        if value:
            raise click.UsageError(
                f"{option} is for one recording: name one DIR, and of an experiment one of its runs"
            )


def show_overlay(directories: Sequence[Path], page: Path | None, *, as_json: bool) -> int:
    """Print several recordings, write their page, and return the exit status.

    Of an experiment that made runs of its own the directory may be named as well. Raises
    RecordingError, and click.UsageError for recordings that cannot be overlaid.
    """
    from whylate.compare.overlay import overlay_recordings
    from whylate.report.page.overlay import write_overlay
    from whylate.report.terminal.overlay import print_overlay

    refuse_imported(directories, "the order of its samples: overlay recordings of whylate")
    try:
        overlaid = overlay_recordings(directories)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    page = page if page is not None else DEFAULT_PAGE
    with writing(page, DiskError):
        write_overlay(page, overlaid)
    if as_json:
        import msgspec

        content = {**msgspec.to_builtins(overlaid.overlay), "report": str(page)}
        print_document("overlay", content)
    else:
        print_overlay(overlaid.overlay, plain_console(), str(page))
    no_verdict = [run for run in overlaid.overlay.runs if run.trust.verdict != "ok"]
    return worst_status(0, *(STATUS["no verdict"] for _ in no_verdict))
