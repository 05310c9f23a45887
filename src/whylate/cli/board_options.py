"""Options that every verb has that works on a board."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whylate.boards.options import BoardOptions
from whylate.boards.waiting import Waiting
from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import DURATION

if TYPE_CHECKING:
    from whylate.boards.board import Board
    from whylate.cli.interrupt import Interrupt
    from whylate.cli.live import LiveView

_where = option_under(Heading.WHERE)

environment_option = _where(
    "--env", "environment", type=click.Path(path_type=Path, exists=True),
    help="labgrid's environment file.  [default: LG_ENV]")  # fmt: skip
smp_option = _where(
    "--smp", type=click.IntRange(1, 64), metavar="N", help="CPUs of a virtual board."
)
kernel_arg_option = _where(
    "--kernel-arg", "kernel_args", multiple=True, metavar="WORD",
    help="A word for a virtual board's kernel command line. May be repeated.")  # fmt: skip

root_option = _where(
    "--root", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="TAR",
    help="A root file system that a virtual board boots, with its own kernel.")  # fmt: skip

wait_option = _where(
    "--wait", "wait_ns", type=DURATION, metavar="TIME", default=0,
    help="Wait this long for a board that somebody else has.")  # fmt: skip

_OPTIONS = (
    environment_option,
    smp_option,
    kernel_arg_option,
    _where("--ssh-port", type=click.IntRange(1024, 65535),
           help="A port of this machine that leads to a virtual board's SSH server."),
    _where("--ssh-key", type=click.Path(path_type=Path, exists=True, dir_okay=False),
           help="The public key that may log in there as root."),
    root_option,
)  # fmt: skip


def opener_of(
    names: Iterable[str],
    smp: int | None,
    environment: Path | None,
    waiting: Waiting | None = None,
) -> Callable[[str, tuple[str, ...]], Board]:
    """Return what opens boards of a plan with kernel arguments, again and again.

    Raises what open_board() raises for an unknown name: later a lost board is retried.
    """
    from whylate.boards.open import open_board

    def open_for(name: str, kernel_args: tuple[str, ...]) -> Board:
        options = BoardOptions(
            smp, kernel_args, environment, waiting=waiting if waiting is not None else Waiting()
        )
        return open_board(name, options)

    for name in names:
        open_for(name, ())
    return open_for


def waiting_shown(wait_s: float, interrupt: Interrupt, view: Callable[[], LiveView]) -> Waiting:
    """Return how boards are waited for; view: what shows it, which is there once one is opened."""
    return Waiting(wait_s, interrupt.wanted, lambda text: view().log(text))


def board_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options, as its argument `options`: a BoardOptions.

    With wait_option above it, --wait is in them.
    """

    @functools.wraps(verb)
    def with_options(
        environment: Path | None,
        smp: int | None,
        kernel_args: tuple[str, ...],
        ssh_port: int | None,
        ssh_key: Path | None,
        root: Path | None,
        wait_ns: int = 0,
        **own: Any,
    ) -> None:
        if (ssh_port is None) != (ssh_key is None):
            raise click.UsageError("--ssh-port and --ssh-key go together")
        options = BoardOptions(
            smp, kernel_args, environment, ssh_port, ssh_key, root, Waiting(wait_ns / 1e9)
        )
        verb(options=options, **own)

    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
