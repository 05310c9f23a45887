"""Options that every verb has that works on a board."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from whylate.boards.open import BoardOptions

_OPTIONS = (
    click.option("--env", "environment", type=click.Path(path_type=Path, exists=True),
                 help="labgrid's environment file.  [default: LG_ENV]"),
    click.option("--smp", type=click.IntRange(1, 64), help="CPUs of a virtual board."),
    click.option("--kernel-arg", "kernel_args", multiple=True, metavar="WORD",
                 help="A word for a virtual board's kernel command line. May be repeated."),
)  # fmt: skip


def board_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options, as its argument `options`: a BoardOptions."""

    @functools.wraps(verb)
    def with_options(
        environment: Path | None, smp: int | None, kernel_args: tuple[str, ...], **others: Any
    ) -> None:
        verb(options=_options(environment, smp, kernel_args), **others)

    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _options(
    environment: Path | None, smp: int | None, kernel_args: tuple[str, ...]
) -> BoardOptions:
    from whylate.boards.open import BoardOptions

    return BoardOptions(cpus=smp, kernel_args=kernel_args, environment=environment)
