"""Families: late episodes that have a cause in common.

The rule. What a cause took of an episode beyond its mean over the control activations of
that CPU is its excess there. An episode is put to the cause with the largest excess, if
that is at least half of the excess of the whole episode. Two or more episodes that are put to the
same cause and detail are a family; of the others, two or more that are put to the same cause with
various details. A family states the least time that its cause has in all
members, and how many control activations reach it.

At most so many families are named; the rest, and what nothing holds together, is one family of
`other`. Every recorded episode is in one family and no more. Nothing is looked for in how causes
vary together among late activations: selection of late activations creates such patterns.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whylate.causes.population import Breakdown, Key
from whylate.causes.window.piece import Cause

#: Families with a name; one more is `other`.
MOST_FAMILIES = 5
#: Fewer episodes have nothing in common.
FEWEST_MEMBERS = 2
#: What one cause must have of an episode's excess.
PART = 0.5

#: An activation: its CPU and its number.
Name = tuple[int, int]
#: What a family has in common; detail None: various ones.
Common = tuple[Cause, str | None]


@dataclass(frozen=True)
class Family:
    """Episodes that have one thing in common: at least at_least_ns of one cause.

    letter: A is the family with the largest excess; "" for the rest, whose cause is None.
    median_ns: what half of the members have of it at the most. episodes: its members.
    controls: recorded control activations that satisfy the rule as well. detail None: they have
    various ones, which count together. worst: the member with the longest latency, and that.
    """

    letter: str
    cause: Cause | None
    detail: str | None
    at_least_ns: int
    median_ns: int
    episodes: int
    controls: int
    excess_ns: float
    worst: Name
    worst_ns: int


@dataclass(frozen=True)
class Families:
    """All families of a run: those with a letter, the largest excess first, then the rest.

    unrecorded: late episodes without a recording; they are in no family. control: recorded control
    activations. of: the letter of each recorded episode.
    """

    families: tuple[Family, ...]
    unrecorded: int
    control: int
    of: Mapping[Name, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Member:
    """A recorded episode, and the cause it is put to, if to any."""

    episode: Breakdown
    spent: Mapping[Key, int]
    excess_ns: float
    key: Key | None


def find_families(late: Iterable[Breakdown], control: Sequence[Breakdown]) -> Families:
    """Put late episodes into families by the rule above; the order of both does not matter."""
    controls = _Controls([activation for activation in control if activation.pieces is not None])
    episodes = sorted(late, key=lambda episode: (episode.cpu, episode.activation))
    members = [controls.member(episode) for episode in episodes if episode.pieces is not None]
    groups, rest = _grouped(members)
    ranked = sorted(
        groups.items(), key=lambda item: (-_excess(item[1]), item[0][0], item[0][1] or "")
    )
    rest += [member for _, group in ranked[MOST_FAMILIES:] for member in group]
    found_families: list[Family] = []
    of: dict[Name, str] = {}
    for index, (common, group) in enumerate(ranked[:MOST_FAMILIES]):
        letter = chr(ord("A") + index)
        took = sorted(_took(member.spent, common) for member in group)
        least, median = _rounded_down(took[0]), took[(len(took) - 1) // 2]
        found_families.append(
            _family(letter, common, (least, median), group, controls.with_as_much(common, least))
        )
        of |= {(member.episode.cpu, member.episode.activation): letter for member in group}
    if rest:
        found_families.append(_family("", None, (0, 0), rest, 0))
    return Families(tuple(found_families), len(episodes) - len(members), controls.count, of)


def _grouped(members: Iterable[_Member]) -> tuple[dict[Common, list[_Member]], list[_Member]]:
    """Return the groups by cause and detail, those of various details, and who is in none."""
    by_key: dict[Key, list[_Member]] = defaultdict(list)
    rest = []
    for member in members:
        if member.key is None:
            rest.append(member)
        else:
            by_key[member.key].append(member)
    groups: dict[Common, list[_Member]] = {
        key: group for key, group in by_key.items() if len(group) >= FEWEST_MEMBERS
    }
    various: dict[Cause, list[_Member]] = defaultdict(list)
    for (cause, _), group in by_key.items():
        if len(group) < FEWEST_MEMBERS:
            various[cause] += group
    for cause, group in various.items():
        if len(group) >= FEWEST_MEMBERS:
            groups[cause, None] = group
        else:
            rest += group
    return groups, rest


def _family(
    letter: str,
    common: Common | None,
    took_ns: tuple[int, int],
    group: Sequence[_Member],
    controls: int,
) -> Family:
    worst = max(group, key=lambda member: member.episode.latency_ns).episode
    cause, detail = common or (None, None)
    return Family(
        letter, cause, detail, *took_ns, len(group), controls, _excess(group),
        (worst.cpu, worst.activation), worst.latency_ns,
    )  # fmt: skip


def _excess(group: Iterable[_Member]) -> float:
    return math.fsum(member.excess_ns for member in group)


def _took(spent: Mapping[Key, int], common: Common) -> int:
    """Return what a cause took: of one detail, or of all where they are various."""
    cause, detail = common
    if detail is not None:
        return spent.get((cause, detail), 0)
    return sum(ns for (other, _), ns in spent.items() if other is cause)


def _rounded_down(ns: int) -> int:
    """Two digits: a rule that is simple to say, and holds for all members."""
    step = int(10 ** max(0, len(str(ns)) - 2))
    return ns // step * step


class _Controls:
    """Mean time of control activations by CPU; a CPU without any has that of all."""

    def __init__(self, control: Sequence[Breakdown]) -> None:
        self.count = len(control)
        self._spent = [activation.by_cause() for activation in control]
        by_cpu: dict[int | None, list[Mapping[Key, int]]] = defaultdict(list)
        for activation, spent in zip(control, self._spent, strict=True):
            by_cpu[activation.cpu].append(spent)
            by_cpu[None].append(spent)
        self._mean = {cpu: _mean(rows) for cpu, rows in by_cpu.items()}

    def member(self, episode: Breakdown) -> _Member:
        """Find the cause that an episode is put to."""
        mean = self._mean.get(episode.cpu) or self._mean.get(None) or {}
        spent = episode.by_cause()
        excess = {key: ns - mean.get(key, 0.0) for key, ns in spent.items()}
        whole = episode.latency_ns - math.fsum(mean.values())
        key = min(excess, key=lambda key: (-excess[key], key), default=None)
        if key is not None and not 0 < excess[key] >= PART * whole:
            key = None
        return _Member(episode, spent, whole, key)

    def with_as_much(self, common: Common, least: int) -> int:
        """Count the control activations that satisfy a family's rule."""
        return sum(_took(spent, common) >= least for spent in self._spent)


def _mean(rows: Sequence[Mapping[Key, int]]) -> dict[Key, float]:
    total: Counter[Key] = Counter()
    for row in rows:
        total.update(row)
    return {key: ns / len(rows) for key, ns in total.items()}
