"""`whylate baseline`: keep runs under a name, to compare later ones with."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(name="baseline")
def command() -> None:
    """Keep runs under a name, to compare later ones with: `whylate compare --baseline NAME`."""


@command.command(name="save")
@click.argument("name")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="RECORDING…")  # fmt: skip
@click.option("--replace", is_flag=True, help="Overwrite a baseline of this name.")
def save_command(name: str, runs: tuple[Path, ...], replace: bool) -> None:
    """Keep what is compared of RECORDINGs under NAME; a NAME with a slash is a file.

    Recordings of other tools, imported or as their files, are kept too.
    Runs of several boots make a better one: boots differ by themselves.
    """
    from whylate.compare.baseline import save
    from whylate.compare.cautions import UnequalError, check_equal
    from whylate.compare.sources import read_source, recordings_in
    from whylate.text import plain

    sources = [read_source(one) for path in runs for one in recordings_in(path)]
    if any(one.table is not None for one in sources):
        raise click.UsageError("a baseline keeps latencies: numbers are compared file with file")
    found = [run for one in sources for run in one.runs]
    try:
        check_equal(found)
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    path = save(name, found, replace=replace)
    boots = {run.boot for run in found}
    of = f"{len(boots)} boot{'s' if len(boots) != 1 else ''}"
    if None in boots:
        of = "boots that are not known"
    many = f"{len(found)} run{'s' if len(found) != 1 else ''}"
    click.echo(f"{many} of {of} in {plain(str(path), 1000)}")


@command.command(name="list")
def list_command() -> None:
    """Show which baselines there are."""
    from whylate.compare.baseline import load, path_of
    from whylate.text import plain

    for path in sorted(path_of("x").parent.glob("*.json")):
        arm = load(str(path))
        first = min(run.made for run in arm.runs)
        when = f", the first of {first}" if first else ""
        click.echo(f"{plain(path.stem)}  {len(arm.runs)} runs{when}")
