"""What a soak measures, spelled as the verbs are: soak BOARD --for 8h cmd -- make -j16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from whylate.cli import VERBS
from whylate.cli.bench import VERBS as BENCHMARKS
from whylate.cli.lazy_verbs import LazyVerbs
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.run_options import PlannedError, plan_only
from whylate.run.errors import RequestError

if TYPE_CHECKING:
    from whylate.recording.plan import RunPlan

#: By the word behind the board: the verbs that measure one workload.
WORKLOADS = {
    "measure": VERBS["measure"],
    "app": VERBS["measure"],
    "section": VERBS["section"],
    **BENCHMARKS,
}
#: Parameters of the verbs that a soak has no use for, or has itself, and why they are refused.
_OF_THE_SOAK = "stands before the workload"
_NOT_IN_SOAKS = {
    "boards": _OF_THE_SOAK,
    "every": "a soak is of one board",
    "environment": _OF_THE_SOAK,
    "smp": _OF_THE_SOAK,
    "kernel_args": _OF_THE_SOAK,
    "root": _OF_THE_SOAK,
    "output": _OF_THE_SOAK,
    "as_json": _OF_THE_SOAK,
    "virtual_time": "a soak is in real time",
    "faults": "a soak is in real time",
    "phases": "a soak is in real time",
    "requirements": "a soak counts failures: judge its recordings with whylate report",
    "listed": "a soak measures",
    "predict": "a soak predicts nothing",
}
#: Sources of values that the user did not give.
_NOT_GIVEN = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None)


class SoakCommand(GroupedCommand):
    """`whylate board soak`, which ends where the words of a workload begin.

    They become its parameter `words`: those behind the board, from the first that is no option of
    the soak's.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the soak's own arguments, and keep the words of the workload."""
        own, words = self.split(ctx, args)
        ctx.params["words"] = words
        return super().parse_args(ctx, own)

    def split(self, ctx: click.Context, args: list[str]) -> tuple[list[str], tuple[str, ...]]:
        """Return the soak's own arguments, and the words of the workload."""
        word, behind, compares = self._first_argument(ctx, args)
        if not (compares and word in WORKLOADS):
            # It is the board; of two that are compared the names are values of the option.
            word, behind, _ = self._first_argument(ctx, behind)
        if word is None:
            return args, ()
        at = len(args) - len(behind) - 1
        return args[:at], tuple(args[at:])

    def _first_argument(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, list[str], bool]:
        """Return the first argument that is no option, what stands behind it, and --compare."""
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        given, behind, _ = parser.parse_args(list(args))
        word = given.get("board")
        compares = isinstance(given.get("compared"), tuple)
        return (word if isinstance(word, str) else None), behind, compares

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage with the workload at its end."""
        return [*super().collect_usage_pieces(ctx), "[WORKLOAD ...]"]


def workload_command(name: str, ctx: click.Context) -> click.Command:
    """Return the verb of a workload; raises RequestError."""
    command = LazyVerbs("workloads", verbs=WORKLOADS).get_command(ctx, name)
    if command is None:
        raise RequestError(
            f"unknown workload {name[:40]!r}: expected one of {', '.join(WORKLOADS)}"
        )
    return command


def workload_run(words: tuple[str, ...], ctx: click.Context) -> RunPlan:
    """Return what a verb would measure with these words; raises RequestError.

    A cycle is a repetition: a benchmark has one round in it, unless --rounds says otherwise.
    """
    import msgspec

    name, *arguments = words
    command = workload_command(name, ctx)
    with command.make_context(name, list(arguments), parent=ctx) as own, plan_only(own):
        _refuse_others(own)
        try:
            command.invoke(own)
        except PlannedError as planned:
            plan = planned.plan
        else:
            raise RequestError(f"{name} measures nothing with these options")
        rounds_given = own.get_parameter_source("rounds") is ParameterSource.COMMANDLINE
    if name == "app" and plan.target is None:
        raise RequestError("app watches a program: write --comm NAME, --pid N or -- COMMAND")
    if plan.benchmark is not None and not rounds_given:
        return msgspec.structs.replace(
            plan, workload=msgspec.structs.replace(plan.benchmark, rounds=1)
        )
    return plan


def _refuse_others(ctx: click.Context) -> None:
    """Raise RequestError for an option of the verb that a soak has no use for."""
    for parameter in ctx.command.params:
        reason = _NOT_IN_SOAKS.get(parameter.name or "")
        if reason is None or ctx.get_parameter_source(parameter.name or "") in _NOT_GIVEN:
            continue
        given = parameter.opts[0] if isinstance(parameter, click.Option) else "a second board"
        raise RequestError(f"{given} has no place behind the workload: {reason}")
