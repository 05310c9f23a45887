"""The knobs of a study that give a board what each side has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whylate.bisect.differences import kinds_as_knobs
from whylate.bisect.differences.kinds_as_knobs import Knob
from whylate.bisect.differences.model import Difference, Differences
from whylate.bisect.kinds import Kind
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import check_value
from whylate.run.knobs.files import file_setting

#: Kinds that knobs can set.
KINDS = (Kind.ARGUMENT, Kind.SETTING, Kind.AFFINITY, Kind.PRIORITY)


@dataclass
class Knobs:
    """Knobs, and the reasons why other differences have none, by their ids."""

    listed: list[Knob] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def knobs_of(differences: Differences) -> Knobs:
    """Return the knobs that give a board what either side has, of settings and of what it boots.

    A study applies, reads back and restores them. The board is the second side, or one like it:
    what that side alone does not set stays as it is found.
    """
    knobs = Knobs()
    for difference in differences.listed:
        try:
            made = list(_knobs(difference, differences.second))
            for knob in made:
                _check(knob)
        except RequestError as error:
            knobs.refused[difference.id] = str(error)
        else:
            knobs.listed += made
    return knobs


def _knobs(difference: Difference, board: str) -> Iterator[Knob]:
    """Yield the knobs of a difference; raises RequestError where it has none."""
    if difference.kind not in KINDS:
        raise RequestError(f"a {difference.kind.value} is no setting")
    if difference.kept:
        raise RequestError("it is kept as it is")
    if difference.kind is Kind.ARGUMENT:
        yield kinds_as_knobs.word_knob(difference, board)
    elif difference.means.method == "with parent":
        raise RequestError("it comes with the kernel")
    elif difference.kind is Kind.PRIORITY:
        yield kinds_as_knobs.priority_knob(difference, board)
    elif difference.first is None or difference.second is None:
        raise RequestError("it is not there on both sides")
    elif difference.kind is Kind.AFFINITY:
        yield kinds_as_knobs.affinity_knob(difference)
    else:
        yield from kinds_as_knobs.file_knobs(
            difference.means.target, difference.first, difference.second
        )


def _check(knob: Knob) -> None:
    """Raise RequestError for a name or a value that a study would refuse."""
    for value in (knob.first, knob.second):
        if value is not None:
            check_value(knob.name, value)
            file_setting(knob.name, value)
