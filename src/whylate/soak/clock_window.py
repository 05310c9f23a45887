"""For how long each boot had no clock source, and whether lockups come with long such windows.

Until the kernel switches to a clock source it counts time in ticks, so that whatever waits for a
time, or watches for a lockup, is only as good as they are. The window is from the kernel's start to
the line that names the first clock source, by the kernel's own time of that line.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whylate.recording.console.boot_stages import CLOCK_SOURCE
from whylate.soak.model import Cycle
from whylate.stats.limits import binomial_limits

#: What the kernel reports of code that does not go on.
LOCKUPS = ("soft lockup", "hard lockup", "rcu stall", "hung task")
#: Groups of the windows, and how many boots make one.
_MOST_GROUPS = 4
_FEWEST_BOOTS = 5
#: Of all groups together.
_CONFIDENCE = 0.95


class WindowGroup(msgspec.Struct, frozen=True):
    """Boots with windows of about the same length, and in how many of them there was a lockup.

    low, high: exact limits of the rate (Clopper and Pearson), which hold at 95 % for all groups
    together.
    """

    least_s: float
    most_s: float
    boots: int
    lockups: int
    low: float
    high: float


class ClockWindows(msgspec.Struct, frozen=True):
    """Lockups by the length of the window, the shortest first; at least two groups or none.

    unseen: boots without a time of that line, for which no window is known; unseen_lockups: those
    of them with a lockup.
    """

    groups: list[WindowGroup]
    boots: int
    lockups: int
    unseen: int
    unseen_lockups: int


def window_s(cycle: Cycle) -> float | None:
    """Return the window of a cycle's boot; None where the console shows none."""
    return next(
        (stage.kernel_s for stage in cycle.boot_stages or [] if stage.name == CLOCK_SOURCE), None
    )


def locked_up(cycle: Cycle) -> bool:
    """Whether the kernel reported a lockup, or the board hung."""
    return cycle.outcome == "hung" or any(cause.what in LOCKUPS for cause in cycle.causes)


def clock_windows(judged: Sequence[Cycle]) -> ClockWindows | None:
    """Return lockups by the window; None where no boot of which the console was read shows one."""
    watched = [(window_s(cycle), locked_up(cycle)) for cycle in judged if cycle.boot_stages]
    known = [(seconds, locked) for seconds, locked in watched if seconds is not None]
    unseen = [locked for seconds, locked in watched if seconds is None]
    if not known:
        return None
    return ClockWindows(
        groups=_groups(sorted(known)),
        boots=len(known),
        lockups=sum(locked for _, locked in known),
        unseen=len(unseen),
        unseen_lockups=sum(unseen),
    )


def _groups(ordered: Sequence[tuple[float, bool]]) -> list[WindowGroup]:
    """Cut windows into groups of about as many; equal ones stay together, whatever came of them."""
    count = min(_MOST_GROUPS, len(ordered) // _FEWEST_BOOTS)
    cut: list[list[tuple[float, bool]]] = []
    for number, item in enumerate(ordered):
        group = number * count // len(ordered) if count else 0
        same = bool(cut) and cut[-1][-1][0] == item[0]
        if not cut or (not same and group >= len(cut)):
            cut.append([])
        cut[-1].append(item)
    if len(cut) < 2:
        return []
    # Bonferroni: each group has its part of what may be wrong.
    confidence = 1 - (1 - _CONFIDENCE) / len(cut)
    return [_group(items, confidence) for items in cut]


def _group(items: Sequence[tuple[float, bool]], confidence: float) -> WindowGroup:
    lockups = sum(locked for _, locked in items)
    low, high = binomial_limits(lockups, len(items), confidence)
    return WindowGroup(items[0][0], items[-1][0], len(items), lockups, low, high)
