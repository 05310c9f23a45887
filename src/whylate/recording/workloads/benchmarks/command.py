"""The rows of the benchmark `cmd`, from the messages of the probe."""

from __future__ import annotations

import math
import re

from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler
from whylate.recording.workloads.command import CommandPoint, failure_text
from whylate.wire.codec import WireError
from whylate.wire.constants import KEPT_OUTPUT
from whylate.wire.messages import CommandOutput, CommandRepetition

#: A number as programs write it, with commas between thousands alone.
NUMBER = re.compile(
    r"[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
)
#: Behind a number these make it ambiguous: a decimal comma, or a list.
_GOES_ON = re.compile(r"[.,]?\d|,\d")


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
