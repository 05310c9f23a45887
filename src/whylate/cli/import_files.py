"""`whylate import`: recordings of other tools' files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from whylate.recording.imported.write import Importable


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="FILE…")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The recording's directory; of several runs, numbered ones below it.  "
              "[default: recordings/TIME-FILE]")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="Of numbers: the heading or the number of the column.")  # fmt: skip
@click.option("--unit", default="", help="Of numbers: what they are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    files: tuple[Path, ...], output: Path | None, column: str | None, unit: str, as_json: bool
) -> None:
    """Make a recording of each run that FILEs tell of.

    \b
    Latencies: cyclictest (lines, histogram, -v, --json), jitterdebugger, rtla timerlat hist,
    Xenomai's latency. Numbers: one a line or a column of a table, as ministat takes them,
    lmbench's lat_ctx, perf stat -x. Any of them may be quoted in a mail.

    What a file does not have (order, overflow, missed activations) is kept with it: whylate report
    says it, whylate compare takes the recordings as it takes the files, and what would need more
    is refused.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.cli.run_options import new_directory
    from whylate.recording.imported.write import read_importable, write_imported

    runs = [run for file in files for run in read_importable(file, column, unit)]
    directory = output if output is not None else new_directory("recordings", files[0].name)
    made = write_imported(directory, runs)
    if as_json:
        _print_json(made, runs)
        return
    for place, run in zip(made, runs, strict=True):
        _print(place, run)


def _print(place: Path, run: Importable) -> None:
    from whylate.quantities import format_count
    from whylate.recording.imported.model import ImportedRun
    from whylate.text import plain

    found = run.data
    if not isinstance(found, ImportedRun):
        what = f"{format_count(len(found.values))} values"
    elif found.latency_ns is None:
        what = "a mean and a maximum"
    else:
        what = f"{format_count(found.latency_ns.size + found.overflow)} activations"
    click.echo(f"{plain(str(place), 1000)}  {plain(run.source, 200)}: {found.tool}, {what}")


def _print_json(made: list[Path], runs: list[Importable]) -> None:
    document = {
        "format": "whylate-imports",
        "version": 1,
        "recordings": [
            {"recording": str(place), "source": run.source, "run": run.number,
             "tool": run.data.tool}
            for place, run in zip(made, runs, strict=True)
        ],
    }  # fmt: skip
    print_json(document)
