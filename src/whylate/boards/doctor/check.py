"""What the doctor checks: rows of a table, what they look at, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

import msgspec

from whylate.boards.facts import facts
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import ProbeFacts
from whylate.recording.manifest import Fact, RecorderReport
from whylate.text import clean

State = Literal["good", "poor", "missing", "unknown"]
#: What a measurement needs; what finding causes needs; settings that spoil latency.
Group = Literal["measuring", "explaining", "settings"]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The present state, the usual recommendation and its reason, and how to get there.

    good: nothing to do. poor: it is known to cost latency. missing: something cannot be measured
    here. unknown: it is not readable, or the user has to weigh it. `how` is "" where there is
    nothing to do.
    """

    group: Group
    name: str
    state: State
    now: str
    wanted: str
    how: str = ""


class Finding(NamedTuple):
    """The state of one thing on one board; `now` may contain text of the board.

    how: None: as the rule has it.
    """

    state: State
    now: str
    how: str | None = None


@dataclass(frozen=True)
class Examined:
    """All that is known of a board."""

    files: Files
    #: What the flight recorder reported when it was tried; None: it was not.
    recorder: RecorderReport | None = None

    @property
    def probe(self) -> ProbeFacts:
        """What the probe knows besides the files."""
        return self.files.probe

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """The board's facts by name."""
        return {fact.name: fact for fact in facts(self.files.snapshot, self.probe)}

    @property
    def is_guest(self) -> bool:
        """Whether the board shows a hypervisor."""
        return self.text("hypervisor") is not None

    def text(self, name: str) -> str | None:
        """Return a fact that is a string, else None."""
        value = self._value(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        """Return a fact that is an integer, else None."""
        value = self._value(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool | None:
        """Return a fact that is yes or no, else None."""
        value = self._value(name)
        return value if isinstance(value, bool) else None

    def items(self, name: str) -> list[str] | None:
        """Return a list as it is and a string as a list with it (grouped facts are either)."""
        value = self._value(name)
        if isinstance(value, str):
            return [value]
        return value if isinstance(value, list) else None

    def unreadable(self, name: str, how: str | None = "") -> Finding:
        """Return the finding for a fact without a value: "not there", or the reason."""
        fact = self.facts.get(name)
        return Finding("unknown", "not there" if fact is None else fact.source, how)

    def _value(self, name: str) -> object:
        fact = self.facts.get(name)
        return None if fact is None else fact.value


Examine = TypeVar("Examine", bound=Callable[[Examined], Finding | None])


@dataclass(frozen=True)
class Rule:
    """One row of the doctor's table.

    `examine` returns None where the row does not apply to the board.
    """

    group: Group
    name: str
    wanted: str
    how: str
    examine: Callable[[Examined], Finding | None]

    def check(self, board: Examined) -> Check | None:
        """Return the row's check of a board, clean and bounded."""
        finding = self.examine(board)
        if finding is None:
            return None
        how = self.how if finding.how is None else finding.how
        how = "" if finding.state == "good" else how
        return Check(
            self.group, self.name, finding.state, clean(finding.now, 160), self.wanted, how
        )


class Rules(list[Rule]):
    """Rows of the doctor's table; as a decorator it adds one that a function examines."""

    def __init__(self, group: Group) -> None:
        super().__init__()
        self._group = group

    def __call__(self, name: str, wanted: str, how: str) -> Callable[[Examine], Examine]:
        """Return a decorator that adds a row, with what to do where it is not good."""

        def add(examine: Examine) -> Examine:
            self.append(Rule(self._group, name, wanted, how, examine))
            return examine

        return add
