"""What else may be why two sides differ: their boots, and when they were made.

What differs between boots (where the kernel and the program lie in memory, which CPU an interrupt
went to), and what changes with time (temperature, other guests of the host), is no property of a
variant. Where every run of one side is from another boot, or of another time, than every run of
the other, nothing can tell the two apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from whylate.compare.model import Scope
from whylate.compare.runs import Arm, Run

#: From this part of both sides' runs on that boots have in common, runs are compared: what a boot
#: is like then hardly tells the sides apart.
_SHARED = 0.75
#: Fewer runs than these on each side come out one after the other by chance.
_SHOWS_ORDER = 3


@dataclass(frozen=True)
class Units:
    """What is compared: runs, or boots of several runs.

    scope: of what the answer holds. why_not: why it holds of these runs alone; None: it does not.
    accepted: what may be why they differ besides, where that is accepted.
    """

    first: Arm
    second: Arm
    scope: Scope
    why_not: str | None
    accepted: str | None = None


def units(first: Arm, second: Arm, *, accept: bool) -> Units:
    """Return what is to be compared; accept: whatever else lies between the two sides."""
    compared = _told_apart(first, second)
    if accept and compared.why_not is not None:
        return Units(compared.first, compared.second, compared.scope, None, compared.why_not)
    return compared


def _told_apart(first: Arm, second: Arm) -> Units:
    ours, theirs = first.boots, second.boots
    if ours is not None and theirs is not None and _in_common(first, second) < _SHARED:
        return _of_boots(first, second)
    scope: Scope = "unknown" if ours is None or theirs is None else "boots"
    if ours is not None and ours == theirs and len(ours) == 1:
        scope = "boot"
    apart = one_after_the_other(first.runs, second.runs)
    return Units(first, second, scope, _ORDER if apart else None)


def _in_common(first: Arm, second: Arm) -> float:
    """Return which part of either side's runs is from boots that the other side has as often."""
    ours, theirs = (Counter(run.boot for run in arm.runs) for arm in (first, second))
    return sum(min(ours[boot] / len(first.runs), theirs[boot] / len(second.runs)) for boot in ours)


_ORDER = (
    "every run of one side was made before any of the other, so that whatever changed meanwhile "
    "would look the same: make them in turns, in random order (whylate study does)"
)


def _of_boots(first: Arm, second: Arm) -> Units:
    """Compare boots, of which most have runs of one side alone."""
    boots = [len(arm.boots or ()) for arm in (first, second)]
    if min(boots) == 1:
        sides = "each side is" if boots == [1, 1] else "one side is"
        return Units(
            first,
            second,
            "boot",
            f"{sides} from a single boot of its own, and boots differ by themselves: boot "
            "several times for each side",
        )
    apart = one_after_the_other(first.runs, second.runs)
    return Units(first.by_boot(), second.by_boot(), "boots", _ORDER if apart else None)


def one_after_the_other(first: Sequence[Run], second: Sequence[Run]) -> bool:
    """Whether all runs of one side were made before any of the other; False: not known."""
    if any(not run.made or run.repeats for run in (*first, *second)):
        return False
    if min(len(first), len(second)) < _SHOWS_ORDER:
        return False
    ours, theirs = [run.made for run in first], [run.made for run in second]
    return max(ours) < min(theirs) or max(theirs) < min(ours)


def matched(first: Arm, second: Arm) -> tuple[Arm, Arm] | None:
    """Put runs side by side that were named as pairs; None where none were."""
    ours = {run.pair: run for run in first.runs if run.pair}
    theirs = {run.pair: run for run in second.runs if run.pair}
    both = [pair for pair in ours if pair in theirs]
    if not both:
        return None
    return (
        Arm(first.name, tuple(ours[pair] for pair in both)),
        Arm(second.name, tuple(theirs[pair] for pair in both)),
    )


def without_partner(first: Arm, second: Arm) -> str | None:
    """Say which runs have none to pair with, where runs were named as pairs; None where all do."""
    ours, theirs = ({run.pair for run in arm.runs if run.pair} for arm in (first, second))
    if not ours and not theirs:
        return None
    lonely = [
        f"{count} of {len(arm.runs)} of {arm.name}"
        for arm, others in ((first, theirs), (second, ours))
        if (count := sum(run.pair not in others for run in arm.runs))
    ]
    return f"{' and '.join(lonely)} have none to be compared with" if lonely else None


def in_turns(first: Arm, second: Arm) -> tuple[Arm, Arm] | None:
    """Put runs side by side that were made in turns: one of each side, then again one of each.

    None where they were not, or where it is not known when they were made.
    """
    if len(first.runs) != len(second.runs) or any(
        not run.made for run in (*first.runs, *second.runs)
    ):
        return None
    ours = sorted(first.runs, key=lambda run: run.made)
    theirs = sorted(second.runs, key=lambda run: run.made)
    ends = [max(a.made, b.made) for a, b in zip(ours, theirs, strict=True)]
    begins = [min(a.made, b.made) for a, b in zip(ours, theirs, strict=True)]
    if any(end > begin for end, begin in zip(ends, begins[1:], strict=False)):
        return None
    return Arm(first.name, tuple(ours)), Arm(second.name, tuple(theirs))
