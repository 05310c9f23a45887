"""What `whylate measure` needs beside its options: the program to watch, and former spellings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from whylate.cli.option_groups import CommandWords
from whylate.run.errors import RequestError

if TYPE_CHECKING:
    from whylate.recording.workloads.app import Target

_OWN_THREADS = "is for the probe's own threads: a program's threads have their own"
#: Options that mean nothing for a program, by their parameters, and why.
_NOT_FOR_PROGRAMS = {
    "interval_ns": f"--interval {_OWN_THREADS}",
    "cpus": f"--cpus {_OWN_THREADS}",
    "priority": f"--priority {_OWN_THREADS}",
    "allow_idle_states": f"--allow-idle-states {_OWN_THREADS}",
    "phases": f"--phases {_OWN_THREADS}",
    "counters": "--counters is for the probe's own threads: perf stat counts a program",
    "until": "--until looks at samples while they come: not with --spool, --virtual-time or a "
    "program",
}


def program_to_watch(
    ctx: click.Context,
    comm: str | None,
    pid: int | None,
    argv: tuple[str, ...] | None,
    boards: Sequence[str],
) -> Target | None:
    """Return the program to watch; None: the probe's own threads. Raises RequestError."""
    from whylate.recording.workloads.app import CommandTarget, CommTarget, PidTarget

    targets: list[Target] = []
    if comm is not None:
        targets.append(CommTarget(comm))
    if pid is not None:
        targets.append(PidTarget(pid))
    if argv is not None:
        targets.append(CommandTarget(list(argv)))
    if not targets:
        return None
    if len(targets) > 1:
        raise RequestError("one program is watched: use --comm NAME, --pid N or -- COMMAND")
    if pid is not None and len(boards) > 1:
        raise RequestError("--pid is a process of one board: for several use --comm NAME")
    for name, reason in _NOT_FOR_PROGRAMS.items():
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise RequestError(reason)
    return targets[0]


class MeasureCommand(CommandWords):
    """`whylate measure`, which answers the former spelling of benchmarks with the present one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; raises RequestError for a former spelling."""
        own = args[: args.index("--")] if "--" in args else args
        at = next((at for at, word in enumerate(own) if word.split("=")[0] == "--workload"), None)
        if at is not None:
            raise RequestError(f"measure has no --workload: write {_present_spelling(args, at)}")
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name
            if verbs := "|".join(_benchmarks_with(option)):
                message = f"measure has no {option}: write whylate bench {verbs} {option} …"
                raise RequestError(message) from None
            raise


def _present_spelling(args: Sequence[str], at: int) -> str:
    """Return a command line as it is written now; at: where --workload is."""
    from whylate.cli.bench import VERBS as BENCHMARKS

    _, equals, workload = args[at].partition("=")
    rest = list(args[at + 1 :])
    if not equals and rest:
        workload = rest.pop(0)
    verb = ["bench", workload] if workload in BENCHMARKS else ["measure"]
    return shlex.join(["whylate", *verb, *args[:at], *rest])


def _benchmarks_with(option: str) -> list[str]:
    """Return the benchmarks that have an option."""
    from whylate.cli.bench import VERBS as BENCHMARKS
    from whylate.cli.bench import bench

    context = click.Context(bench)
    commands = {name: bench.get_command(context, name) for name in BENCHMARKS}
    return [
        name
        for name, command in commands.items()
        if command is not None and any(option in parameter.opts for parameter in command.params)
    ]
