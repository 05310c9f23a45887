"""`whylate baseline`: runs saved under a name, for later comparisons."""

from __future__ import annotations

from pathlib import Path

import click

from whylate.text import plain


@click.group(name="baseline")
def command() -> None:
    """Save runs under a name, for later comparisons: `whylate compare --baseline NAME`."""


@command.command(name="save")
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="RECORDING…")  # fmt: skip
@click.option("--replace", is_flag=True, help="Overwrite a baseline of this name.")
def save_command(name: str, paths: tuple[Path, ...], replace: bool) -> None:
    """Save the statistics of RECORDINGs under NAME; a NAME with a slash is a file.

    Results of other tools may be saved too, imported or as their files. Save runs of several boots:
    boots differ by themselves.
    """
    from whylate.compare.baseline import save
    from whylate.compare.cautions import UnequalError, check_equal
    from whylate.compare.sources import read_source, recordings_in

    sources = [read_source(recording) for path in paths for recording in recordings_in(path)]
    if any(source.table is not None for source in sources):
        raise click.UsageError("a baseline has latencies: compare numbers file with file")
    runs = [run for source in sources for run in source.runs]
    try:
        check_equal(runs)
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    path = save(name, runs, replace=replace)
    boots = {run.boot for run in runs}
    boots_text = "unknown boots" if None in boots else _count(len(boots), "boot")
    click.echo(f"{_count(len(runs), 'run')} of {boots_text} in {plain(str(path), 1000)}")


@command.command(name="list")
def list_command() -> None:
    """List the baselines."""
    from whylate.compare.baseline import load, path_of

    for path in sorted(path_of("x").parent.glob("*.json")):
        arm = load(str(path))
        first = min(run.made for run in arm.runs)
        since = f", the first of {first}" if first else ""
        click.echo(f"{plain(path.stem)}  {len(arm.runs)} runs{since}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
