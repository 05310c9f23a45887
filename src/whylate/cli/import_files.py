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
              help="Numbers: the heading or the number of the column; the name of a run, of "
              "several in a file.")  # fmt: skip
@click.option(
    "--unit",
    default="",
    metavar="TEXT",
    help="The unit of numbers, or of a time that a heading has without.",
)
@json_option
def command(
    files: tuple[Path, ...], output: Path | None, column: str | None, unit: str, as_json: bool
) -> None:
    """Make a recording of each run in FILEs.

    \b
    Latencies: cyclictest (lines, histogram, -v, --json), jitterdebugger, rtla timerlat and
    osnoise (hist, top), hwlatdetect, Xenomai's latency, schbench, perf sched (latency, timehist),
    fio's JSON, a histogram as a table (latency_us,count).
    Numbers: one a line or a column of a table, as ministat takes them, perf stat (printed, -x, -j),
    hyperfine, Google Benchmark, go test -bench, function_graph, lmbench's lat_ctx.
    Executions of a piece of code: a table whose headings name counters, a row each
    (duration_ns,cycles,instructions,l1i_stall,where).
    Any of them may be quoted in a mail, indented, or in a block of Markdown.

    Several runs of a file become a recording each. What a file does not have (order, overflow,
    missed activations) is kept with it: whylate report prints it, whylate compare reads the
    recordings like the files, and verbs that need more refuse them.
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
    from whylate.recording.imported.executions.model import COUNTERS, Executions
    from whylate.recording.imported.model import ImportedRun

    data = run.data
    if isinstance(data, Executions):
        noun = "row" if data.n == 1 else "rows"
        counters = ", ".join(column.name for column in data.having(COUNTERS))
        what = f"{format_count(data.n)} {noun} of {plain(counters, 100)}"
    elif not isinstance(data, ImportedRun):
        noun = "value" if len(data.values) == 1 else "values"
        what = f"{format_count(len(data.values))} {noun}"
    elif data.n is None:
        what = "a summary"
    else:
        what = f"{format_count(data.n)} activations"
        what = f"a summary of {what}" if data.latency_ns is None else what
    if data.name:
        what = f"{plain(data.name, 100)}, {what}"
    click.echo(f"{plain(str(path), 1000)}  {plain(run.source, 200)}: {data.tool}, {what}")
