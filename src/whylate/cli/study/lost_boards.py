"""Boards that a study gave up."""

from __future__ import annotations

from collections.abc import Mapping

import click


def say_lost(lost: Mapping[str, str]) -> None:
    """Print a line for each board, with why; on standard error."""
    from whylate.text import plain

    for board, why in lost.items():
        click.echo(f"whylate: {plain(board, 60)} was given up: {plain(why, 800)}", err=True)
