"""The plan of a bisection of settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.model import Difference
from whylate.bisect.sets.model import Item, Nouns, Sets, SetsPlan
from whylate.bisect.settings.choose import chosen_groups
from whylate.recording.bounds import Small

SCHEMA_VERSION = 2
NOUNS = Nouns(
    "settings",
    "setting",
    "settings",
    "as found",
    "knob",
    "This setting makes",
    "These settings make",
    "None of the settings makes the difference.",
    "None of the settings that ran apart makes the difference.",
)


class BisectPlan(SetsPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """bisect.json. The sides are the two variants of its study.

    keep, pin: patterns of knobs.
    """

    format: Literal["whylate-bisect"] = "whylate-bisect"
    schema_version: Small = SCHEMA_VERSION
    keep: list[str]
    pin: list[str]

    @property
    def groups(self) -> list[list[Difference]]:
        """The knobs that hybrids exchange, each group as one, in the order of the plan."""
        return chosen_groups(
            self.study.variants, Choice(keep=tuple(self.keep), pin=tuple(self.pin))
        )

    @property
    def items(self) -> list[Item]:
        """The groups of knobs; keys are the names of all of them."""
        return [_item(group) for group in self.groups]

    @property
    def sets(self) -> Sets:
        """The bisection as it is shown."""
        return Sets(self, tuple(self.items), NOUNS)


def _item(group: Sequence[Difference]) -> Item:
    """Return what hybrids exchange as one; a value that a side lacks is written as found."""
    name = " + ".join(knob.name for knob in group)
    if len(group) == 1:
        return Item(name, name, group[0].first, group[0].second)
    first, second = (
        " + ".join(NOUNS.absent if value is None else value for value in values)
        for values in zip(*((knob.first, knob.second) for knob in group), strict=True)
    )
    return Item(name, name, first, second)


def from_former(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan of this schema of one of the first schema, which has no patterns."""
    return {**plan, "keep": [], "pin": [], "schema_version": SCHEMA_VERSION}
