"""The figures of the benchmark `cmd`: the time of a command, or a number that it prints."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.command import CPU_TIME, CommandPoint
from whylate.summary.benchmarks.model import Fact, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of_turns,
)

#: Characters of a command that are shown in a condition.
_MOST_SHOWN = 120


class CommandSummarizer(BenchmarkSummarizer):
    """Wall and CPU time, and the number in the output."""

    title = "How long a command takes"
    counts_per = "run"
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "wall_s": FigureKind("wall s", "s"),
        "cpu_s": FigureKind("CPU s", "s"),
    }

    @classmethod
    def kind(cls, key: str, point: CommandPoint) -> FigureKind:
        """Return how a figure is shown; a command that is timed is compared by its CPU time too."""
        if key == "value":
            better = "more is better" if point.higher_is_better else "less is better"
            return FigureKind(
                f"value {point.unit}".rstrip(),
                point.unit,
                point.higher_is_better,
                quantity=f"what {point.value!r} finds ({point.unit or 'no unit'}, {better})",
            )
        if key == "cpu_s" and point.value is None:
            return FigureKind("CPU s", "s", compared_as=CPU_TIME)
        return cls.kinds[key]

    def measure(
        self, point: CommandPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return times, and the number that was found in the output."""
        refused = _failure(rows)
        figures = {
            "wall_s": median_of_turns(rows, rows.column("wall_ns") / 1e9),
            "cpu_s": median_of_turns(
                rows, (rows.column("user_ns") + rows.column("system_ns")) / 1e9
            ),
        }
        if point.value is not None and rows.value is not None:
            missing = int(np.isnan(rows.value).sum())
            if missing:
                cut = any(report.output_cut for report in reports)
                kept = ", of which the last 64 KiB were kept" if cut else ""
                refused = refused or (
                    f"--value finds no number in what the command wrote{kept} in {missing} of "
                    f"{rows.n} rounds (1,234 and 3.14 are numbers; 3,14 is none)"
                )
            else:
                figures = {"value": median_of_turns(rows, rows.value), **figures}
        facts: dict[str, Fact] = {
            "peak_memory_bytes": int(rows.column("peak_memory").max()),
            **({"unit": point.unit} if point.unit else {}),
        }
        return Measurement(figures, facts, refused)

    def work(self, rows: Repetitions) -> Floats:
        """Return 1 for each run."""
        return np.ones(rows.n)

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return the commands."""
        del measured
        commands = {
            shlex.join((*figures.point.env, *figures.point.argv))
            for figures in points
            if isinstance(figures.point, CommandPoint)
        }
        text = "; ".join(sorted(commands))
        if len(text) > _MOST_SHOWN:
            # Commands of which only the beginnings are shown differ all the same.
            digest = hashlib.sha256(text.encode()).hexdigest()[:12]
            text = f"{text[:_MOST_SHOWN]}… (SHA-256 {digest})"
        return {"conditions": {"command": text}}


def _failure(rows: Repetitions) -> str | None:
    failed = np.flatnonzero((rows.column("status") != 0) | (rows.column("signal") != 0))
    if not failed.size:
        return None
    signal, status = (int(rows.column(name)[failed[0]]) for name in ("signal", "status"))
    how = f"was ended by signal {signal}" if signal else f"ended with status {status}"
    return f"the command {how} in {failed.size} of {rows.n} rounds"
