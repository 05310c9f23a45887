"""Numbers that stand in a file under names: several of one name are its repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.imported.model import InputError
from whylate.recording.imported.rows import list_text, no_number, number


@dataclass(frozen=True)
class NamedValue:
    """A number as text, its name and unit ("": none), and the line it stands on (0: in JSON).

    main: it is what its tool is used for; others are read where they are asked for.
    """

    line: int
    name: str
    text: str
    unit: str = ""
    main: bool = True


@dataclass(frozen=True)
class Named:
    """The numbers of a file. lacks: what is not in it, in words for a person."""

    tool: str
    values: Sequence[NamedValue]
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """The numbers of one name, at least one."""

    name: str
    unit: str
    values: tuple[float, ...]


def choose(path: Path, named: Named, column: str | None) -> Chosen:
    """Return the values of one name; column: which, needed where there are several.

    Raises InputError.
    """
    wanted = [value for value in named.values if column is not None or value.main]
    names = list(dict.fromkeys(value.name for value in wanted))
    chosen = [name for name in names if column is None or is_called(named.tool, name, column)]
    if len(chosen) != 1:
        raise InputError(f"{path} has {list_text(names)}: choose one with --column")
    values = []
    units: dict[str, None] = {}
    for value in wanted:
        if value.name != chosen[0]:
            continue
        read = number(value.text)
        if read is None:
            raise no_number(path, value.line, value.text)
        values.append(read)
        units[value.unit] = None
    if len(units) > 1:
        raise InputError(f"{path} has {chosen[0]!r} in {list_text(list(units))}: give it in one "
                         "unit")  # fmt: skip
    return Chosen(chosen[0], next(iter(units)), tuple(values))


def is_called(tool: str, name: str, column: str) -> bool:
    """Whether a column is meant; of lat_ctx the number of processes will do without the size."""
    return column == name or (tool == "lat_ctx" and column == name.partition(" ")[0])
