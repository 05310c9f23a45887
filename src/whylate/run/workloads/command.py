"""Running the benchmark `cmd`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from whylate.recording.workloads import Workload
from whylate.recording.workloads.command import CPU_TIME, Command, CommandPoint, failure_text
from whylate.run.errors import RequestError
from whylate.run.workloads.rules import BenchmarkRules
from whylate.run.workloads.tables import BenchmarkTable
from whylate.wire.constants import LONGEST_RUN_NS, MOST_COMMAND_BYTES, MOST_WORDS
from whylate.wire.messages import BenchCommand, CommandRepetition, Message

_MAX_EXPRESSION = 1000


class CommandTable(BenchmarkTable, kw_only=True):
    """[cmd]. command: its words, or one line that is split as a shell does."""

    command: str | list[str]
    value: str | None = None
    unit: str = ""
    higher_is_better: bool = False

    def workload(self) -> Workload:
        """Return the command."""
        try:
            line = self.command
            words = shlex.split(line) if isinstance(line, str) else line
        except ValueError as error:
            raise RequestError(f"command of [cmd]: {error}") from None
        point = CommandPoint(
            tuple(words), value=self.value, unit=self.unit, higher_is_better=self.higher_is_better
        )
        return Command(points=[point], **self.common())


class CommandRules(BenchmarkRules):
    """Runs of a command."""

    table: ClassVar[type[BenchmarkTable] | None] = CommandTable

    def check_point(self, point: CommandPoint) -> None:
        """Raise RequestError for a command that does not fit, or an invalid expression."""
        words = [*point.env, *point.argv]
        size = sum(len(word.encode(errors="surrogateescape")) + 1 for word in words)
        if not point.argv or not point.argv[0]:
            raise RequestError("no command to run: write it behind --")
        if len(words) >= MOST_WORDS or size > MOST_COMMAND_BYTES:
            raise RequestError(
                f"the command has more than {MOST_WORDS} words or {MOST_COMMAND_BYTES} bytes: put "
                "it into a script"
            )
        if any("\0" in word for word in words):
            raise RequestError("a word of the command has a NUL in it")
        if point.value is not None:
            _check_expression(point.value)

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError: the command is not pinned from here."""
        del cpus
        raise RequestError("a command is not pinned: write taskset -c CPUS before it")

    def check_block(self, block_ns: int) -> None:
        """Accept any: a command has no block."""

    def pin(
        self, point: CommandPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> CommandPoint:
        """Return the command: the scheduler chooses."""
        del cpus, available
        return point

    def statistic_names(self, workload: Command) -> list[str]:
        """Return the names of the statistics: a timed command also has its CPU time."""
        timed = any(point.value is None for point in workload.points)
        return [*super().statistic_names(workload), *([CPU_TIME] if timed else [])]

    def patience_s(self, workload: Command) -> float:
        """Return how long a command may take, in seconds."""
        del workload
        return LONGEST_RUN_NS / 1e9

    def failure(self, message: Message) -> bool:
        """Return whether the command failed: it may take an hour, and would fail again."""
        return isinstance(message, CommandRepetition) and failure_text(message) is not None

    def command(self, workload: Command, point: CommandPoint, turn: int) -> BenchCommand:
        """Return the command that measures a point in a turn."""
        del workload
        env = ("env", *point.env) if point.env else ()
        return BenchCommand(turn=turn, argv=(*env, *point.argv))

    def with_variables(self, workload: Command, variables: Sequence[str]) -> Command:
        """Give NAME=VALUE to the command."""
        points = [msgspec.structs.replace(point, env=tuple(variables)) for point in workload.points]
        return msgspec.structs.replace(workload, points=points)


def _check_expression(value: str) -> None:
    try:
        groups = re.compile(value, re.MULTILINE).groups
    except re.error as error:
        raise RequestError(f"--value: invalid regular expression: {error}") from None
    if len(value) > _MAX_EXPRESSION or groups > 1:
        raise RequestError("--value takes an expression with one group, which is the number")
