"""Compare two recordings row by row: where do they begin to differ, and in what they were made?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import PLACE, Repetitions
from whylate.recording.samples import Numbered, NumberedRows
from whylate.recording.workloads.point_names import point_names

#: Facts that differ between any two boots.
_PASSING = frozenset({"uptime_s", "boot_id"})


@dataclass(frozen=True)
class Activation:
    """An activation in both recordings; None: a recording lacks that number."""

    number: int
    #: When it was due, in ns after the first activation of its CPU.
    due_ns: int
    first_latency_ns: int | None
    second_latency_ns: int | None


@dataclass(frozen=True)
class Parting:
    """The first activation of a CPU, in time, that is not the same in both recordings."""

    cpu: int
    at: Activation
    #: Its neighbours, in order.
    around: tuple[Activation, ...]
    #: How many activations of this CPU are the same before it.
    same_before: int
    #: How many of this CPU differ, including those that only one recording has.
    differing: int


def partings(
    first: Sequence[Numbered], second: Sequence[Numbered], context: int = 3
) -> list[Parting]:
    """Return where two runs part, a parting for each CPU that differs, the earliest first.

    first, second: the samples of each CPU. Runs that are the same give an empty list; a CPU that
    only one of them measured parts at its first activation. context: activations shown before
    and behind.
    """
    ours = {cpu_series.cpu: cpu_series for cpu_series in first}
    theirs = {cpu_series.cpu: cpu_series for cpu_series in second}
    parts = []
    for cpu in sorted(ours.keys() | theirs.keys()):
        parting = _parting(cpu, ours.get(cpu), theirs.get(cpu), context)
        if parting is not None:
            parts.append(parting)
    return sorted(parts, key=lambda parting: (parting.at.due_ns, parting.cpu))


def _parting(
    cpu: int, first: Numbered | None, second: Numbered | None, context: int
) -> Parting | None:
    around: list[tuple[int, Activation]] = []
    rows = differing = 0
    at: int | None = None
    for left, right in _side_by_side(_Rows(first), _Rows(second)):
        same = np.array_equal(left.number, right.number)
        numbers = left.number if same else np.union1d(left.number, right.number)
        pair = _rows_at(left, numbers), _rows_at(right, numbers)
        where = np.flatnonzero(np.any([pair[0][name] != pair[1][name] for name in _SAME], axis=0))
        if at is None and where.size:
            at = rows + int(where[0])
        # Until they part the last ones are kept, and then as many as are shown behind.
        end = rows + numbers.size
        low = end - context if at is None else at - context
        high = end if at is None else min(end, at + context + 1)
        around = [(row, activation) for row, activation in around if row >= low]
        around += [
            (row, _activation(numbers, pair, row - rows)) for row in range(max(rows, low), high)
        ]
        rows = end
        differing += where.size
    if at is None:
        return None
    parted = next(activation for row, activation in around if row == at)
    return Parting(cpu, parted, tuple(activation for _, activation in around), at, differing)


#: What is the same of an activation that is the same in both recordings.
_SAME = ("there", "latency_ns", "overrun")
#: Of an activation by its number; there: whether a run has it. due_ns: since the CPU's first was
#: due; of a program's activations since the CPU was watched.
_ROW = np.dtype(
    [("there", bool), ("due_ns", np.int64), ("latency_ns", np.int64), ("overrun", bool)]
)


def _rows_at(rows: NumberedRows, numbers: NDArray[np.int64]) -> NDArray[np.void]:
    """Return the row of each number, zeros where it is lacking."""
    rows_of = np.zeros(numbers.size, _ROW)
    all_of_them = rows.number.size == numbers.size
    at = slice(None) if all_of_them else np.searchsorted(numbers, rows.number)
    rows_of["there"][at] = True
    rows_of["due_ns"][at] = rows.due_ns
    rows_of["latency_ns"][at], rows_of["overrun"][at] = rows.latency_ns, rows.overrun
    return rows_of


def _activation(
    numbers: NDArray[np.int64], pair: tuple[NDArray[np.void], NDArray[np.void]], index: int
) -> Activation:
    left, right = pair
    due_ns = left["due_ns"][index] if left["there"][index] else right["due_ns"][index]
    latencies = (int(rows["latency_ns"][index]) if rows["there"][index] else None for rows in pair)
    return Activation(int(numbers[index]), int(due_ns), *latencies)


class _Rows:
    """The rows of a CPU in the order of their numbers, which are taken piece by piece."""

    def __init__(self, series: Numbered | None) -> None:
        self._pieces = iter(()) if series is None else series.numbered()
        none = np.zeros(0, np.int64)
        self.waiting = NumberedRows(none, none, none, none.astype(np.bool_))

    def fill(self) -> bool:
        """Whether any row waits, after reading some more where none did."""
        while not self.waiting.number.size:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self.waiting = piece
        return True

    def cut_to(self, last: int) -> NumberedRows:
        """Return the rows that wait, up to a number."""
        end = int(np.searchsorted(self.waiting.number, last, side="right"))
        taken, self.waiting = self.waiting.cut(0, end), self.waiting.cut(end, None)
        return taken


def _side_by_side(first: _Rows, second: _Rows) -> Iterator[tuple[NumberedRows, NumberedRows]]:
    """Yield the rows of both of a stretch of numbers, and so on, so that no number is cut off."""
    while True:
        waiting = [rows for rows in (first, second) if rows.fill()]
        if not waiting:
            return
        last = min(int(rows.waiting.number[-1]) for rows in waiting)
        yield first.cut_to(last), second.cut_to(last)


@dataclass(frozen=True)
class RepetitionParting:
    """The first repetition of a benchmark that is not the same in both recordings.

    column: the first of its figures that differs; first, second: that figure; None: a recording
    lacks the repetition. same_before: repetitions before it. differing: all that differ.
    """

    turn: int
    repetition: int
    point: str
    column: str
    first: float | None
    second: float | None
    same_before: int
    differing: int


def repetition_parting(
    first: Repetitions, second: Repetitions, points: Sequence[str], order: Sequence[int]
) -> RepetitionParting | None:
    """Return where the repetitions of two benchmarks of one workload part; None: nowhere.

    points: their names. order: the point of each turn. Repetitions are matched by turn and number,
    and the rows of a repetition by their order.
    """
    ours, theirs = _repetition_rows(first), _repetition_rows(second)
    names = [*(name for name in first.columns if name not in PLACE), "value"]
    places = sorted(ours.keys() | theirs.keys())
    differing = [place for place in places if ours.get(place) != theirs.get(place)]
    if not differing:
        return None
    place = differing[0]
    left, right = ours.get(place), theirs.get(place)
    at = 0
    if left is not None and right is not None:
        at = next(i for i, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1])
    turn, repetition, _ = place
    point = order[turn] if turn < len(order) else -1
    return RepetitionParting(
        turn,
        repetition,
        points[point] if 0 <= point < len(points) else "?",
        names[at],
        None if left is None else left[at],
        None if right is None else right[at],
        places.index(place),
        len(differing),
    )


def _repetition_rows(
    repetitions: Repetitions,
) -> dict[tuple[int, int, int], tuple[float | None, ...]]:
    """Return the figures of each row, by turn, repetition and row of that."""
    columns: list[list[Any]] = [
        column.tolist() for name, column in repetitions.columns.items() if name not in PLACE
    ]
    value = repetitions.value
    # No number is no figure: it is not the same as itself otherwise.
    columns.append(
        [None] * repetitions.n
        if value is None
        else [None if math.isnan(number) else number for number in value.tolist()]
    )
    rows: dict[tuple[int, int, int], tuple[float | None, ...]] = {}
    turns, numbers = (repetitions.column(name).tolist() for name in ("turn", "repetition"))
    for turn, number, *figures in zip(turns, numbers, *columns, strict=True):
        row = 0
        while (turn, number, row) in rows:
            row += 1
        rows[turn, number, row] = tuple(figures)
    return rows


def differing_facts(first: Manifest, second: Manifest) -> list[tuple[str, str, str]]:
    """Return what differs of plan, settings and facts: name, value in the first, in the second.

    Of two lists what only one of them has.
    """
    ours, theirs = _values(first), _values(second)
    return [
        (name, *_both(ours.get(name), theirs.get(name)))
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    ]


def _both(first: object, second: object) -> tuple[str, str]:
    if isinstance(first, list) and isinstance(second, list):
        alone = [
            [str(item) for item in items if item not in others]
            for items, others in ((first, second), (second, first))
        ]
        if any(alone):
            return _listed(alone[0]), _listed(alone[1])
    return _shown(first), _shown(second)


def _listed(items: Sequence[str]) -> str:
    return ", ".join(items) or "–"


def _shown(value: object) -> str:
    return "not there" if value is None else str(value)


def _values(manifest: Manifest) -> dict[str, object]:
    plan = msgspec.to_builtins(manifest.plan)
    plan |= plan.pop("workload")
    settings = plan.pop("settings")
    if manifest.plan.benchmark is not None:
        plan["points"] = point_names(manifest.plan.benchmark.points)
    values: dict[str, object] = {
        f"plan: {name}": value if isinstance(value, list) else str(value)
        for name, value in plan.items()
    }
    values |= {f"setting {setting['path']}": setting["value"] for setting in settings}
    values["probe"] = manifest.probe.sha256[:16]
    values |= {
        fact.name: fact.value if isinstance(fact.value, list) else str(fact.value)
        for fact in manifest.facts
        if fact.name not in _PASSING
    }
    return values
