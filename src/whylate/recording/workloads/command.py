"""The benchmark `cmd`: a command, its time or a number that it prints."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from whylate.recording.bounds import BlockNs, Repetition
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import cut_text

if TYPE_CHECKING:
    from whylate.wire.messages import CommandRepetition

#: The second statistic of a command that is timed.
CPU_TIME = "CPU time"


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
