"""The knobs of a study that give a board the settings of one side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from whylate.bisect.differences.model import Difference
from whylate.bisect.kinds import Kind
from whylate.run.errors import RequestError
from whylate.run.knobs.files import EACH_CPU, file_setting

#: Stands in facts for each CPU, if all have the same value.
_ALL_CPUS = "cpu*"
#: Values by CPU, or the settings of several files.
_SEVERAL = ("cpu ", "; ")


@dataclass
class Knobs:
    """Knobs by name, and the reasons why other differences have none, by their ids."""

    values: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def setting_knobs(differences: Iterable[Difference], side: Literal["first", "second"]) -> Knobs:
    """Return the knobs that give a board the values of one side, of settings at run time.

    A study applies, reads back and restores them. What is no setting, what the side lacks, and what
    the user keeps has none, and a reason.
    """
    knobs = Knobs()
    for difference in differences:
        value = difference.first if side == "first" else difference.second
        reason = _why_not(difference, value)
        if reason is None and value is not None:
            path = difference.means.target.replace(_ALL_CPUS, f"cpu{EACH_CPU}")
            try:
                file_setting(path, value)
            except RequestError as error:
                reason = str(error)
            else:
                knobs.values[path] = value
        if reason is not None:
            knobs.refused[difference.id] = reason
    return knobs


def _why_not(difference: Difference, value: str | None) -> str | None:
    """Return why a difference has no knob; None: it may have one."""
    if difference.kind is not Kind.SETTING:
        return f"a {difference.kind.value} is no setting at run time"
    if difference.kept:
        return "it is kept as it is"
    if value is None or difference.first is None or difference.second is None:
        return "it is not there on both sides"
    if any(mark in value for mark in _SEVERAL):
        return "it has several values"
    return None
