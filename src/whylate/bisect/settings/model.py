"""The plan of a bisection of settings."""

from __future__ import annotations

from typing import Literal

from whylate.bisect.sets.model import Item, Nouns, Sets, SetsPlan
from whylate.recording.bounds import Small

SCHEMA_VERSION = 1
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
    """bisect.json. The sides are the two variants of its study."""

    format: Literal["whylate-bisect"] = "whylate-bisect"
    schema_version: Small = SCHEMA_VERSION

    @property
    def items(self) -> list[Item]:
        """The knobs in which the variants differ, in the order of the plan."""
        first, second = (variant.knobs for variant in self.study.variants)
        return [
            Item(knob, knob, first.get(knob), second.get(knob))
            for knob in {**first, **second}
            if first.get(knob) != second.get(knob)
        ]

    @property
    def sets(self) -> Sets:
        """The bisection as it is shown."""
        return Sets(self, tuple(self.items), NOUNS)
