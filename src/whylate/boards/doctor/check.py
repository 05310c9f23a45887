"""One thing that the doctor looked at, and the facts that it looked with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from whylate.boards.facts.reading import clean
from whylate.recording.manifest import Fact

State = Literal["good", "poor", "missing", "unknown"]
#: What a measurement needs; what finding causes needs; settings that spoil latency.
Group = Literal["measuring", "explaining", "settings"]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was found, what is usually wanted and why, and how to get it.

    good: nothing to do. poor: it is known to cost latency. missing: something cannot be measured
    here. unknown: it cannot be told, or it is the reader's to weigh. `how` is "" where there is
    nothing to do.
    """

    group: Group
    name: str
    state: State
    now: str
    wanted: str
    how: str = ""


def check(group: Group, name: str, state: State, now: str, wanted: str, *, how: str = "") -> Check:
    """Make a Check; `now` may hold a board's words and is cleaned and bounded."""
    return Check(group, name, state, clean(now, 160), wanted, "" if state == "good" else how)


class Known:
    """Facts by name, with the type that a check needs."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._facts = {fact.name: fact for fact in facts}

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
        """Return a list as it is and a string as a list of one (grouped facts are either)."""
        value = self._value(name)
        if isinstance(value, str):
            return [value]
        return value if isinstance(value, list) else None

    def is_there(self, name: str) -> bool:
        """Return whether the board has the thing, readable or not."""
        return name in self._facts

    def why_not(self, name: str) -> str:
        """Return what to show in place of a value: "not there", or why it could not be read."""
        fact = self._facts.get(name)
        return "not there" if fact is None else fact.source

    def _value(self, name: str) -> object:
        fact = self._facts.get(name)
        return None if fact is None else fact.value
