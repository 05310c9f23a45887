"""The benchmark `cmd`: a command, its time or a number that it prints."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whylate.recording.bounds import BlockNs, Repetition
from whylate.recording.workloads.assembler import RepetitionAssembler
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import cut_text
from whylate.wire.codec import WireError
from whylate.wire.constants import KEPT_OUTPUT
from whylate.wire.messages import CommandOutput, CommandRepetition

#: The second statistic of a command that is timed.
CPU_TIME = "CPU time"
#: A number as programs write it, with commas between thousands alone.
NUMBER = re.compile(
    r"[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
)
#: Behind a number these make it ambiguous: a decimal comma, or a list.
_GOES_ON = re.compile(r"[.,]?\d|,\d")


class CommandPoint(BenchmarkPoint, frozen=True):
    """A command. value: a regular expression for a number in its output; None: its wall time."""

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "argv": lambda point: cut_text(shlex.join(point.argv)),
        "env": lambda point: cut_text(" ".join(point.env)),
    }

    argv: tuple[str, ...]
    #: Environment variables, as NAME=VALUE.
    env: tuple[str, ...] = ()
    value: str | None = None
    unit: str = ""
    higher_is_better: bool = False

    @property
    def name(self) -> str:
        """What is measured of it."""
        return "wall time" if self.value is None else "value"


class Command(BenchmarkWorkload, frozen=True, kw_only=True, tag="cmd"):
    """Runs of a command: each turn has one repetition."""

    columns: ClassVar[tuple[str, ...]] = (
        "wall_ns", "user_ns", "system_ns", "peak_memory", "status", "signal"
    )  # fmt: skip
    has_value: ClassVar[bool] = True

    points: list[CommandPoint]
    repetitions: Repetition = 1
    block_ns: BlockNs = 1

    def __post_init__(self) -> None:
        """Raise ValueError for a plan that contradicts itself."""
        super().__post_init__()
        if self.repetitions != 1:
            raise ValueError("a command has one repetition a turn")


def failure_text(row: CommandRepetition) -> str | None:
    """Return how a command failed, after which the run ends; None where it succeeded."""
    if not row.status and not row.signal:
        return None
    how = f"was ended by signal {row.signal}" if row.signal else f"ended with status {row.status}"
    return (
        f"the command {how}, and was not run again: its output is not kept, run it by itself to "
        "see why"
    )


class CommandAssembler(RepetitionAssembler):
    """Builds rows of command runs, and finds the number in the output, which is not kept."""

    row = CommandRepetition
    details = (CommandOutput,)

    def __init__(self, workload: BenchmarkWorkload) -> None:
        super().__init__(workload)
        self._values: dict[int, float] = {}
        self._output: dict[int, bytearray] = {}

    def place(self, message: CommandRepetition) -> tuple[int, int]:
        """Return the only place of a turn."""
        del message
        return 0, 0

    def _add_row(self, message: CommandRepetition) -> None:
        super()._add_row(message)
        output = bytes(self._output.pop(message.turn, b""))
        self.report(message.turn, output_bytes=len(output))
        point = self.point(message.turn)
        if isinstance(point, CommandPoint) and point.value is not None:
            value = value_in(output.decode("utf-8", "replace"), point.value)
            if value is not None:
                self._values[message.turn] = value
        failure = failure_text(message)
        if failure is not None:
            self.report(message.turn, error=failure)

    def add_detail(self, message: CommandOutput) -> None:
        """Add a part of the output."""
        output = self._output.setdefault(message.turn, bytearray())
        if len(output) + len(message.data) > KEPT_OUTPUT:
            raise WireError("more output than the probe keeps")
        output += message.data
        if message.cut:
            self.report(message.turn, output_cut=True)

    def values(self) -> dict[int, float]:
        """Return the number found in each turn."""
        return self._values


def value_in(text: str, expression: str) -> float | None:
    """Return the number in the last match of an expression in a text; None without one.

    The number is in the first group of the expression, or in the whole match where it has none. An
    ambiguous number (3,14) is not accepted.
    """
    value = None
    for match in re.finditer(expression, text, re.MULTILINE):
        word = match[1] if match.re.groups else match[0]
        number = NUMBER.search(word or "")
        if number is not None:
            ambiguous = _GOES_ON.match(word, number.end())
            value = None if ambiguous else float(number[0].replace(",", ""))
    return value if value is not None and math.isfinite(value) else None
