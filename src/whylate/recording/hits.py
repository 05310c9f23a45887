"""Hits of a run: how often functions of the kernel and tracepoints ran, and lines of its facts.

A hit is named in one of three ways: a function ("do_nanosleep"), a tracepoint
("sched:sched_switch"), or a line of the facts ("facts:kernel_command_line contains nohz_full").
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

import msgspec

from whylate.recording.manifest import CpuHitCount, Fact, HitReport
from whylate.text import shown
from whylate.wire.codec import WireError
from whylate.wire.messages import CpuHits, HitSource, Message

_FACT_LINE = re.compile(r"facts:([a-z0-9_]{1,60}) contains (\S.{0,199})")
#: Why there is no count of a run that ended before the counters were read.
_NOT_READ = "the run ended before it was read"


class FactLine(msgspec.Struct, frozen=True):
    """The hit that is looked up: the fact's value, or the line it was read from, has the text."""

    fact: str
    text: str


def parse_fact_line(name: str) -> FactLine | None:
    """Return the fact and the text of "facts:NAME contains TEXT"; None for another kind of hit."""
    match = _FACT_LINE.fullmatch(name)
    return None if match is None else FactLine(match[1], match[2])


def counted(names: Sequence[str]) -> list[str]:
    """Return the hits that the probe counts: functions and tracepoints, in their order."""
    return [name for name in names if parse_fact_line(name) is None]


def look_up(name: str, line: FactLine, facts: Sequence[Fact]) -> HitReport:
    """Return whether a line of the facts is there: 1 or 0; None where the fact is not known."""
    fact = next((fact for fact in facts if fact.name == line.fact), None)
    if fact is None:
        return HitReport(name, None, why=f"there is no fact {line.fact}")
    if fact.value is None:
        return HitReport(name, None, why=shown(f"{fact.name} is not known: {fact.source}", 300))
    words = fact.value if isinstance(fact.value, list) else [_text(fact.value)]
    # Of a list both an item and the whole, as a command line is typed.
    texts = [*words, " ".join(words), fact.source]
    has = any(line.text in text for text in texts)
    return HitReport(name, int(has), how=shown(fact.source, 200))


def _text(value: object) -> str:
    """Return a value as `whylate facts` prints it."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class HitAssembler:
    """Collects the probe's messages on the hits of a plan."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._counted = counted(names)
        self._sources: dict[int, HitSource] = {}
        self._cpus: dict[int, Sequence[int]] = {}

    def add(self, message: Message) -> bool:
        """Add a message; return whether it was of hits. Raises WireError for a wrong one."""
        match message:
            case HitSource():
                if message.place >= len(self._counted):
                    raise WireError("a hit that was not asked for")
                self._sources[message.place] = message
            case CpuHits():
                self._add_counts(message)
            case _:
                return False
        return True

    def _add_counts(self, message: CpuHits) -> None:
        if len(message.values) != len(self._counted) or not self._counted:
            raise WireError("hits that were not asked for")
        if any(value >= 1 << 63 for value in message.values):
            raise WireError("a count of hits is out of range")
        self._cpus[message.cpu] = message.values

    def reports(self, facts: Sequence[Fact]) -> list[HitReport]:
        """Return what is known of each hit of the plan, in its order."""
        places = {name: place for place, name in enumerate(self._counted)}
        reports = []
        for name in self._names:
            line = parse_fact_line(name)
            reports.append(
                self._count(name, places[name]) if line is None else look_up(name, line, facts)
            )
        return reports

    def _count(self, name: str, place: int) -> HitReport:
        source = self._sources.get(place)
        if source is None:
            return HitReport(name, None, why=_NOT_READ)
        text = shown(source.text, 300)
        if source.error == errno.ENOENT:
            # What the kernel does not have was never hit.
            return HitReport(name, 0, why=text)
        if source.error:
            return HitReport(name, None, why=text or "it cannot be counted")
        if not self._cpus:
            return HitReport(name, None, how=text, why=_NOT_READ)
        cpus = [CpuHitCount(cpu, values[place]) for cpu, values in sorted(self._cpus.items())]
        return HitReport(name, sum(cpu.count for cpu in cpus), cpus, how=text)
