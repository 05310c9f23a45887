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

    Runs of several boots make a better one: boots differ by themselves.
    """
    from whylate.cli.sides import recordings_in
    from whylate.compare.baseline import save
    from whylate.compare.cautions import UnequalError, check_equal
    from whylate.compare.runs import read_run

    found = [read_run(one) for path in runs for one in recordings_in(path)]
    try:
        check_equal(found)
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    path = save(name, found, replace=replace)
    boots = len({run.boot for run in found})
    click.echo(f"{len(found)} runs of {boots} boot{'s' if boots != 1 else ''} in {path}")


@command.command(name="list")
def list_command() -> None:
    """Show which baselines there are."""
    from whylate.compare.baseline import load, path_of

    for path in sorted(path_of("x").parent.glob("*.json")):
        arm = load(str(path))
        first = min(run.made for run in arm.runs)
        click.echo(f"{path.stem}  {len(arm.runs)} runs, the first of {first}")
