"""Options that every verb has that works on a board."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

kernel_arg_option = click.option(
    "--kernel-arg", "kernel_args", multiple=True, metavar="WORD",
    help="A word for a virtual board's kernel command line. May be repeated.")  # fmt: skip
smp_option = click.option("--smp", type=click.IntRange(1, 64), help="CPUs of a virtual board.")

_OPTIONS = (
    click.option("--env", "environment", type=click.Path(path_type=Path, exists=True),
                 help="labgrid's environment file.  [default: LG_ENV]"),
    smp_option,
    kernel_arg_option,
    click.option("--ssh-port", type=click.IntRange(1024, 65535),
                 help="A port of this machine that leads to a virtual board's SSH server."),
    click.option("--ssh-key", type=click.Path(path_type=Path, exists=True, dir_okay=False),
                 help="The public key that may log in there as root."),
)  # fmt: skip


def board_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options, as its argument `options`: a BoardOptions."""

    @functools.wraps(verb)
    def with_options(
        environment: Path | None,
        smp: int | None,
        kernel_args: tuple[str, ...],
        ssh_port: int | None,
        ssh_key: Path | None,
        **others: Any,
    ) -> None:
        from whylate.boards.open import BoardOptions

        if (ssh_port is None) != (ssh_key is None):
            raise click.UsageError("--ssh-port and --ssh-key go together")
        options = BoardOptions(smp, kernel_args, environment, ssh_port, ssh_key)
        verb(options=options, **others)

    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
