"""What is known of executions with counters: figures of each counter, lines, and classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_count, format_number
from whylate.recording.imported.executions.marks import Marks, pair_marks
from whylate.recording.imported.executions.model import (
    COUNTERS,
    Column,
    Executions,
    Texts,
)
from whylate.recording.imported.recording import About, ImportedRecording
from whylate.stats.arrays import Floats
from whylate.stats.executions.classes import (
    CLASSES,
    LEAST_EXECUTIONS,
    ExecutionClass,
    classify_executions,
)
from whylate.stats.executions.line import fit_line
from whylate.stats.executions.peak import find_peak

#: Executions that are listed one by one.
MOST_LISTED = 1000
_CLASSES_TAKE = "classes take counters of cycles, instructions and stalls of the instruction side"
_SAMPLED_TAKE = "classes take counters of cycles and instructions"
#: What rules ask for, in their order; those of the data side only give a class more.
SIDES_TAKE = {
    "cycles": "cycles",
    "instructions": "instructions",
    "instruction stalls": "stalls of the instruction side",
    "data stalls": "stalls of the data side",
}
_NEEDED, _SAMPLED_NEEDED = tuple(SIDES_TAKE)[:3], tuple(SIDES_TAKE)[:2]
#: So many rows that rise in every counter are taken for running totals.
_LEAST_RISING = 3


class CounterFigures(msgspec.Struct, frozen=True):
    """Figures of a column over all executions.

    largest_ratio: the largest by the most frequent value; None: no_ratio says why. frequent_low,
    frequent_high: 95 % interval of that value. near: share of executions from near_low to
    near_high, within 5 % of it.
    """

    name: str
    role: str
    unit: str
    n: int
    smallest: float
    median: float
    mean: float
    largest: float
    most_frequent: float | None
    largest_ratio: float | None
    no_ratio: str | None
    frequent_low: float | None = None
    frequent_high: float | None = None
    near: float | None = None
    near_low: float | None = None
    near_high: float | None = None


class FittedLine(msgspec.Struct, frozen=True):
    """y = intercept + slope · x by least squares; low, high: 95 % interval of the slope.

    r: Pearson's. refused: why there is no line; then all figures are None.
    """

    y: str
    x: str
    n: int
    intercept: float | None = None
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    r: float | None = None
    refused: str | None = None


class ListedExecution(msgspec.Struct, frozen=True, rename={"execution_class": "class"}):
    """An execution. number: its position in the file, from 1. values: by name of a column.

    Of marks they are the differences within the pair. place: of a row that has one. class: None
    where none is known.
    """

    number: int
    place: str | None
    values: dict[str, float]
    execution_class: str | None


class MarkPlaces(msgspec.Struct, frozen=True):
    """The places between which counters were read; "": not the same in each execution."""

    first: str
    second: str


class ExecutionsSummary(msgspec.Struct, frozen=True):
    """Everything that is printed of executions.

    executions: how many; rows: of the table. marks: None where each row is an execution. classes:
    executions by class; None: no_classes says why. evidence: by what the rule asks for, the column
    that has it. listed: the MOST_LISTED longest executions (most cycles, else longest duration), in
    the order of the file.
    """

    recording: str
    about: About
    executions: int
    rows: int
    marks: MarkPlaces | None
    counters: list[CounterFigures]
    fits: list[FittedLine]
    classes: dict[str, int] | None
    no_classes: str | None
    evidence: dict[str, str]
    listed: list[ListedExecution]
    cautions: list[str]


@dataclass(frozen=True)
class Counted:
    """Executions, one a row: of marks the differences.

    columns: of numbers, without times. values: by name, shape (n,). places: of each, shape (n,);
    None where there is none. classes: int8, shape (n,), places in class_names; None: not known.
    cpus, numbers: of executions of a section, int64, shape (n,): where each ended, and its number
    there; None: its number is that of its row. began_ns, pids: when each began, since the first
    CPU was watched, and in which thread. kinds: int8, shape (n,), places in kind_names: why each
    took longer, by time or by its counters, or that it did not; None: as classes. class_counts: of
    all longer executions, not of some that were drawn.
    """

    columns: tuple[Column, ...]
    values: dict[str, Floats]
    marks: Marks | None
    places: Texts | None
    classes: NDArray[np.int8] | None
    no_classes: str | None
    evidence: dict[str, str]
    class_names: tuple[str, ...] = tuple(map(str, CLASSES))
    cpus: NDArray[np.int64] | None = None
    numbers: NDArray[np.int64] | None = None
    began_ns: NDArray[np.int64] | None = None
    pids: NDArray[np.int64] | None = None
    kinds: NDArray[np.int8] | None = None
    kind_names: tuple[str, ...] = ()
    class_counts: dict[str, int] | None = None

    @property
    def n(self) -> int:
        """Executions."""
        return next(iter(self.values.values())).size

    @property
    def dependent(self) -> Column | None:
        """What lines are fitted to: cycles, else a duration."""
        by_role = {column.role: column for column in reversed(self.columns)}
        return by_role.get("cycles") or by_role.get("duration")


def row_text(counted: Counted, row: int) -> str:
    """Say which execution a row is."""
    if counted.cpus is None or counted.numbers is None:
        return f"execution {format_count(row + 1)}"
    number = format_count(int(counted.numbers[row]))
    text = f"execution {number} that ended on CPU {counted.cpus[row]}"
    if counted.began_ns is not None and counted.pids is not None:
        seconds = format_number(counted.began_ns[row] / 1e9, 7)
        text += f", began after {seconds} s in thread {counted.pids[row]}"
    return text


def count_executions(executions: Executions, source: str) -> Counted:
    """Return executions one by one, with their classes; source: for messages.

    Raises InputError for marks that make no pairs.
    """
    marks = pair_marks(source, executions)
    columns = executions.having((*COUNTERS, "duration"))
    values = {column.name: executions.numbers[column.name] for column in columns}
    if marks is not None:
        values = {name: _difference(totals, marks) for name, totals in values.items()}
        time = executions.first("time")
        if time is not None and executions.first("duration") is None:
            columns.append(Column(time.name, "duration", time.unit))
            values[time.name] = _difference(executions.numbers[time.name], marks)
    classes, no_classes, evidence = _classes(columns, values)
    place = executions.first("place") if marks is None else None
    places = None if place is None else executions.texts[place.name]
    return Counted(tuple(columns), values, marks, places, classes, no_classes, evidence)


def _difference(totals: Floats, marks: Marks) -> Floats:
    first, second = totals[marks.first_rows], totals[marks.second_rows]
    # The duration of an execution may stand at both of its marks.
    return second if np.array_equal(first, second) else second - first


def _classes(
    columns: Sequence[Column], values: dict[str, Floats]
) -> tuple[NDArray[np.int8] | None, str | None, dict[str, str]]:
    """Return the classes, why there are none, and the columns that they rest on."""
    evidence = evidence_of(columns)
    missing = missing_evidence(evidence)
    if missing is not None:
        return None, missing, {}
    cycles, instructions, stalls, *data = (values[name] for name in evidence.values())
    if cycles.size < LEAST_EXECUTIONS:
        return None, (f"classes take {LEAST_EXECUTIONS} executions, for the others show what is "
                      f"typical; there are {cycles.size}"), {}  # fmt: skip
    data_stalls = data[0] if data else None
    classes = classify_executions(cycles, instructions, stalls, data_stalls=data_stalls)
    return classes, None, evidence


def evidence_of(columns: Sequence[Column]) -> dict[str, str]:
    """Return what the rule of classes asks for, in its order, and the first column that has it."""
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(column.role, column.name)
    return {role.replace(" ", "_"): names[role] for role in SIDES_TAKE if role in names}


def class_counts(
    classes: NDArray[np.int8], names: Sequence[ExecutionClass], evidence: dict[str, str]
) -> dict[str, int]:
    """Return how many executions are of each class that there is evidence for.

    classes: shape (n,), places in names. evidence: as evidence_of() returns it.
    """
    counts = np.bincount(classes, minlength=len(names)).tolist()
    return {
        str(name): count
        for name, count in zip(names, counts, strict=True)
        if name is not ExecutionClass.DATA_SIDE or "data_stalls" in evidence
    }


def lacking(evidence: dict[str, str]) -> list[str]:
    """Return which counters are missing to tell stalls of both sides from each other."""
    return [text for role, text in SIDES_TAKE.items() if role.replace(" ", "_") not in evidence]


def missing_evidence(evidence: dict[str, str], *, is_sampled: bool = False) -> str | None:
    """Say what the rule of classes lacks; None: nothing. is_sampled: the one with samples."""
    needed = _SAMPLED_NEEDED if is_sampled else _NEEDED
    missing = [text for text in lacking(evidence) if text in map(SIDES_TAKE.get, needed)]
    take = _SAMPLED_TAKE if is_sampled else _CLASSES_TAKE
    return f"{take}; there is none of {' and of '.join(missing)}" if missing else None


def summarize_executions(imported: ImportedRecording, counted: Counted) -> ExecutionsSummary:
    """Return everything that is printed of executions."""
    marks, fits = counted.marks, fit_lines(counted)
    classes = None
    if counted.classes is not None:
        classes = class_counts(counted.classes, CLASSES, counted.evidence)
    return ExecutionsSummary(
        recording=str(imported.directory),
        about=imported.about,
        executions=counted.n,
        rows=counted.n if marks is None else 2 * counted.n,
        marks=None if marks is None else MarkPlaces(marks.first, marks.second),
        counters=[
            counter_figures(column, counted.values[column.name]) for column in counted.columns
        ],
        fits=fits,
        classes=classes,
        no_classes=counted.no_classes,
        evidence=counted.evidence,
        listed=_listed(counted),
        cautions=_cautions(counted, fits),
    )


def counter_figures(column: Column, values: Floats) -> CounterFigures:
    """Return the figures of a column; values: shape (n,), n at least 1, in order of time."""
    peak = find_peak(values)
    figures = CounterFigures(
        column.name, column.role, column.unit, int(values.size), float(values.min()),
        float(np.median(values)), float(values.mean()), float(values.max()), None, None, None,
    )  # fmt: skip
    if isinstance(peak, str):
        return msgspec.structs.replace(figures, no_ratio=peak)
    return msgspec.structs.replace(
        figures,
        most_frequent=peak.value,
        largest_ratio=figures.largest / peak.value if peak.value else None,
        no_ratio=None if peak.value else "the most frequent value is 0",
        frequent_low=peak.low,
        frequent_high=peak.high,
        near=peak.near,
        near_low=peak.near_low,
        near_high=peak.near_high,
    )


def fit_lines(counted: Counted) -> list[FittedLine]:
    """Fit cycles, or else the duration, to each counter."""
    dependent = counted.dependent
    if dependent is None:
        return []
    fits = []
    for column in counted.columns:
        if column.name == dependent.name or column.role == "duration":
            continue
        names = (dependent.name, column.name, counted.n)
        line = fit_line(counted.values[column.name], counted.values[dependent.name])
        if isinstance(line, str):
            fits.append(FittedLine(*names, refused=line))
        else:
            fits.append(FittedLine(*names, line.intercept, line.slope, line.low, line.high, line.r))
    return fits


def _listed(counted: Counted) -> list[ListedExecution]:
    """Return the longest executions; of rows without classes the table itself has all there is."""
    if counted.marks is None and counted.classes is None:
        return []
    rows = np.arange(counted.n)
    if counted.n > MOST_LISTED and counted.dependent is not None:
        longest = np.argsort(-counted.values[counted.dependent.name], kind="stable")
        rows = np.sort(longest[:MOST_LISTED])
    return [_list(counted, row) for row in rows[:MOST_LISTED].tolist()]


def _list(counted: Counted, row: int) -> ListedExecution:
    places, classes = counted.places, counted.classes
    return ListedExecution(
        row + 1,
        None if places is None else places.names[int(places.codes[row])],
        {name: float(column[row]) for name, column in counted.values.items()},
        None if classes is None else str(CLASSES[int(classes[row])]),
    )


def _cautions(counted: Counted, fits: Sequence[FittedLine]) -> list[str]:
    cautions = []
    if any(fit.refused is None for fit in fits):
        cautions.append(
            "a line and r describe these executions and name no cause; of outliers that were "
            "selected for being long both are biased, even in sign"
        )
    if counted.classes is not None:
        cautions.append(
            "a class says where cycles went, against the median of these executions: spinning is a "
            "loop that goes on for longer, whether it waits for a lock or has more to do"
        )
    rising = [counted.values[column.name] for column in counted.columns if column.role in COUNTERS]
    if (
        counted.marks is None
        and len(rising) > 1
        and counted.n >= _LEAST_RISING
        and all((np.diff(values) > 0).all() for values in rising)
    ):
        cautions.append(
            "every counter rises from row to row, as running totals do: if they are, name the two "
            "marks of an execution in a column `where`"
        )
    return cautions
