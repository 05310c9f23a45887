"""The knobs in which two variants differ, as differences that patterns choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from whylate.bisect.differences.atoms import Groups
from whylate.bisect.differences.choose import Choice, choose, exclude
from whylate.bisect.differences.model import Difference, Means, make_difference
from whylate.bisect.kinds import Kind
from whylate.recording.plan import THREADS
from whylate.study.model import Variant
from whylate.study.plan_file import PlanFile

#: What the names of knobs that are no settings begin with.
_KINDS = {"cmdline:": Kind.ARGUMENT, "irq:": Kind.AFFINITY, THREADS: Kind.PRIORITY}


def chosen_groups(variants: Sequence[Variant], choice: Choice) -> list[list[Difference]]:
    """Return the knobs that hybrids exchange, those that are pinned together as one group."""
    groups: dict[str, list[Difference]] = {}
    first, second = (variant.knobs for variant in variants)
    for difference in choose(_differences(first, second), choice, Groups()):
        if not difference.kept:
            groups.setdefault(difference.atom or difference.id, []).append(difference)
    return list(groups.values())


def without_excluded(file: PlanFile, patterns: Sequence[str]) -> PlanFile:
    """Return a plan of two variants without the knobs that match and in which they differ.

    They are left out before knobs are checked: the board may not support them.
    """
    if len(file.variants) != 2:
        return file
    first, second = (
        {knob: str(value) for knob, value in knobs.items()} for knobs in file.variants.values()
    )
    listed = _differences(first, second)
    left = {difference.name for difference in exclude(listed, patterns)}
    gone = {difference.name for difference in listed} - left
    variants = {
        name: {knob: value for knob, value in knobs.items() if knob not in gone}
        for name, knobs in file.variants.items()
    }
    return msgspec.structs.replace(file, variants=variants)


def _differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[Difference]:
    """Return the knobs whose values differ, in the order of the plan."""
    return [
        make_difference(
            _kind(knob), knob, first.get(knob), second.get(knob), Means("setting", knob)
        )
        for knob in {**first, **second}
        if first.get(knob) != second.get(knob)
    ]


def _kind(knob: str) -> Kind:
    return next((kind for start, kind in _KINDS.items() if knob.startswith(start)), Kind.SETTING)
