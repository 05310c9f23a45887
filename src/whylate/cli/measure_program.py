"""What `whylate measure --workload app` is told of the program that it watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from whylate.recording.workloads.app import Target

#: Options that say how the probe's own threads are measured: a program has its own.
_OF_WAKEUP = {
    "interval_ns": "--interval",
    "cpus": "--cpus",
    "priority": "--priority",
    "allow_idle_states": "--allow-idle-states",
    "phases": "--phases",
}


class WithCommand(click.Command):
    """A command that takes whatever follows `--` as the words of a command: parameter `argv`.

    click alone makes no difference between an argument before `--` and one behind it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before `--`, and keep what stands behind it."""
        own = list(args)
        argv: tuple[str, ...] | None = None
        if "--" in own:
            at = own.index("--")
            own, argv = own[:at], tuple(own[at + 1 :])
        ctx.params["argv"] = argv
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage with the command at its end."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


def app_of(
    ctx: click.Context,
    workload: str,
    comm: str | None,
    pid: int | None,
    argv: tuple[str, ...] | None,
    boards: Sequence[str],
) -> Target | None:
    """Return the program to watch; None of another workload. Raises RequestError."""
    from whylate.recording.workloads.app import CommandTarget, CommTarget, PidTarget
    from whylate.run.errors import RequestError

    if workload != "app":
        if comm is not None or pid is not None or argv is not None:
            raise RequestError(
                "--comm, --pid and -- COMMAND say which program is watched: say --workload app too"
            )
        return None
    for name, option in _OF_WAKEUP.items():
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise RequestError(
                f"{option} is of the wakeup workload: a program's threads wake as they do"
            )
    if pid is not None and len(boards) > 1:
        raise RequestError("--pid is of a program on one board: for several say --comm NAME")
    targets: list[Target] = []
    if comm is not None:
        targets.append(CommTarget(comm))
    if pid is not None:
        targets.append(PidTarget(pid))
    if argv is not None:
        targets.append(CommandTarget(list(argv)))
    if len(targets) != 1:
        raise RequestError(
            "--workload app watches one program: say --comm NAME, --pid N or -- COMMAND"
        )
    return targets[0]
