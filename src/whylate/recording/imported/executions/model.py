"""Executions of a piece of code, each with its counters: the table as its file has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A counter, a duration or a time is a float's without rounding up to this.
MOST = 2**53
#: Columns that are kept, characters of a heading and of a place, and different places.
MOST_COLUMNS = 32
MOST_NAME = 100
MOST_TEXT = 200
MOST_PLACES = 1000
TOOL = "a table of executions"

_NOT_WHOLE = (
    "is no whole number: it is a mean, or a counter that was scaled because it was multiplexed"
)

#: What a column is. instruction stalls, data stalls: of that side; stalls: of another one, or of
#: one that is not named. other: an event that is counted. time: when a row came. place: where.
#: execution: which execution a row is of.
Role = Literal["cycles", "instructions", "instruction stalls", "data stalls", "stalls", "other",
               "duration", "time", "place", "execution"]  # fmt: skip
COUNTERS = ("cycles", "instructions", "instruction stalls", "data stalls", "stalls", "other")
TEXTS = ("place", "execution")


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column that is read. name: its heading. unit: of a duration or a time, "": not known."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME)]
    role: Role
    unit: Annotated[str, msgspec.Meta(max_length=20)] = ""


@dataclass(frozen=True)
class Texts:
    """A column of texts. names: each once. codes: int64, shape (n,): which of them a row has."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]


@dataclass(frozen=True)
class Executions:
    """The rows of a table of executions, in the order of the file.

    columns: what each is; at least one is a counter, and no two have one name. numbers: by name of
    a counter, duration or time, float64, shape (n,), n at least 1: whole numbers of 0 to MOST for
    counters, not negative for a duration. texts: by name of a place or execution. lines: of the
    file, int64, shape (n,); None: not known.
    """

    columns: tuple[Column, ...]
    numbers: dict[str, Floats]
    texts: dict[str, Texts]
    lines: NDArray[np.int64] | None = None
    lacks: tuple[str, ...] = ()
    tool: str = TOOL
    name: str = ""

    @property
    def n(self) -> int:
        """Rows."""
        return next(iter(self.numbers.values())).size

    def first(self, *roles: Role) -> Column | None:
        """Return the first column of one of some roles."""
        return next((column for column in self.columns if column.role in roles), None)

    def having(self, roles: Sequence[str]) -> list[Column]:
        """Return the columns of some roles, in the order of the file."""
        return [column for column in self.columns if column.role in roles]

    def row_text(self, row: int) -> str:
        """Say where a row is, counted from 0: its line, or its number from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def find_problem(column: Column, values: Floats) -> tuple[int, str] | None:
    """Return the first row whose value cannot be of a column, and what is wrong; None: none is."""
    checks = [(~np.isfinite(values), "is not a number")]
    if column.role != "time":
        checks.append((values < 0, f"is negative, and no {kind_text(column)} is"))
    checks.append((np.abs(values) > MOST, f"is beyond 2^53 ({MOST:,}), the most that is kept"))
    if column.role in COUNTERS:
        checks.append((values != np.floor(values), _NOT_WHOLE))
    wrong = [(int(np.flatnonzero(bad)[0]), text) for bad, text in checks if bad.any()]
    return min(wrong, default=None, key=lambda problem: problem[0])


def kind_text(column: Column) -> str:
    """Say what a column of numbers is."""
    return "counter" if column.role in COUNTERS else column.role
