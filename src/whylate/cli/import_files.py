"""`whylate import`: make recordings of other tools' files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import NewPath
from whylate.cli.print_json import json_option, print_document
from whylate.cli.run_options import new_directory
from whylate.quantities import format_count
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.recording.imported.write import Importable


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="FILE…")  # fmt: skip
@click.option("-o", "--output", type=NewPath(), metavar="DIR",
              help="The recording's directory; several runs get numbered ones below it.  "
              "[default: recordings/TIME-FILE]")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="Numbers: the heading or the number of the column.")  # fmt: skip
@click.option("--unit", default="", metavar="TEXT", help="Numbers: their unit.")
@json_option
def command(
    files: tuple[Path, ...], output: Path | None, column: str | None, unit: str, as_json: bool
) -> None:
    """Make a recording of each run in FILEs.

    \b
    Latencies: cyclictest (lines, histogram, -v, --json), jitterdebugger, rtla timerlat hist,
    Xenomai's latency. Numbers: one a line or a column of a table, as ministat takes them,
    lmbench's lat_ctx, perf stat -x. Any of them may be quoted in a mail.

    What a file does not have (order, overflow, missed activations) is kept with it: whylate report
    prints it, whylate compare reads the recordings like the files, and verbs that need more refuse
    them.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.recording.imported.write import read_importable, write_imported

    runs = [run for file in files for run in read_importable(file, column, unit)]
    directory = output if output is not None else new_directory("recordings", files[0].name)
    made = write_imported(directory, runs)
    if as_json:
        recordings = [
            {"recording": str(path), "source": run.source, "run": run.number, "tool": run.data.tool}
            for path, run in zip(made, runs, strict=True)
        ]
        print_document("imports", {"recordings": recordings})
        return
    for path, run in zip(made, runs, strict=True):
        _print(path, run)


def _print(path: Path, run: Importable) -> None:
    from whylate.recording.imported.model import ImportedRun

    data = run.data
    if not isinstance(data, ImportedRun):
        what = f"{format_count(len(data.values))} values"
    elif data.latency_ns is None:
        what = "a mean and a maximum"
    else:
        what = f"{format_count(data.latency_ns.size + data.overflow)} activations"
    click.echo(f"{plain(str(path), 1000)}  {plain(run.source, 200)}: {data.tool}, {what}")
