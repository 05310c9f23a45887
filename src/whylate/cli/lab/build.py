"""`whylate lab build`: the images of the virtual boards."""

from __future__ import annotations

import click


@click.command(name="build")
@click.argument("boards", nargs=-1)
@click.option("--update", is_flag=True, help="Look for newer packages first.")
def command(boards: tuple[str, ...], update: bool) -> None:
    """Fetch kernels and make the images of BOARDS, or of all virtual boards.

    Kernels and busybox come from Debian's packages, which are fetched with apt and unpacked below
    ~/.cache/whylate (or WHYLATE_LAB), never installed. What is there already is used again.
    """
    from rich.text import Text

    from whylate.lab.cache import building, cache_directory
    from whylate.lab.description import names, virtual_board
    from whylate.lab.image import build
    from whylate.lab.qemu import fetch_qemu
    from whylate.report.plain_console import plain_console

    console = plain_console(stderr=True)

    def show(text: str) -> None:
        console.print(Text(f"whylate: {text} …"))

    for name in boards or names():
        board = virtual_board(name)
        fetch_qemu(board, show)
        with building(cache_directory(), show):
            image = build(board, show, update=update)
        click.echo(f"{name:16} Linux {image.release}")
