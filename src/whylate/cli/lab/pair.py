"""`whylate lab pair`: two root file systems that differ in hundreds of things."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="pair")
@click.argument("name", required=False)
@click.option("-o", "directory", type=click.Path(path_type=Path, file_okay=False),
              help="Where they are written.  [default: NAME]")  # fmt: skip
@click.option("--update", is_flag=True, help="Look for newer packages first.")
def command(name: str | None, directory: Path | None, update: bool) -> None:
    """Make the pair NAME, vendor.tar and ours.tar, or list the pairs.

    A pair is two root file systems for a virtual board, of Debian's packages of two releases. Their
    differences are known, and which of them makes one of them faster: whylate bisect images finds
    it.
    """
    from rich.text import Text

    from whylate.lab.pairs.make import make_pair
    from whylate.lab.pairs.recipe import pair_names, read_recipe
    from whylate.report.plain_console import plain_console

    if name is None:
        for known in pair_names():
            recipe = read_recipe(known)
            click.echo(f"{known:14}  {recipe.board:12}  {recipe.title}")
        return
    console = plain_console(stderr=True)

    def show(text: str) -> None:
        console.print(Text(f"whylate: {text} …"))

    for side, path in make_pair(name, directory or Path(name), show, update=update).items():
        click.echo(f"{side:8} {path}  {path.stat().st_size / (1 << 20):.0f} MiB")
