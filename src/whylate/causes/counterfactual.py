"""How late an activation would have been without a cause, or with the cause faster: two bounds.

The rule. t is the time of the cause's pieces between due and run, B what comes behind the first of
them, but for the activation's own way to its code (scheduling, return), and G what was not observed
or is unexplained.

| bound | latency without the cause | why |
|---|---|---|
| upper | latency - t | a CPU conserves work: what ran behind the cause would have run anyway |
| upper | latency | something behind it ends at a time of its own (a quota, a sleep of the kernel's, the host): the cause may have hidden it, and without the cause it lasts as much longer |
| lower | latency - t - B - G | what ran behind it may have come due before the activation, and would have been done by then; what nobody saw may have been the cause |

With the cause s times as fast the upper bound loses t (1 - 1/s). The lower bound loses as much of
the longest execution of the cause that was seen, and t at most: the activation came due at some
point within an execution, and only the end of it is in the window.

Both bounds allow for RESOLUTION_NS at the ends of the cause's time. The lower bound is no lower
than a usual activation, which the caller knows (usual_ns).
"""  # noqa: E501 (a table)

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from whylate.causes.population import RESOLUTION_NS, Breakdown, Key, cause_key
from whylate.causes.window.piece import Cause, Piece

#: Its own way, which no cause queues.
_OWN_WAY = frozenset({Cause.SCHEDULING, Cause.RETURN})
#: What ends at a time of its own, whatever the CPU does meanwhile.
_TIMED = frozenset({
    Cause.THROTTLING, Cause.BANDWIDTH, Cause.DEADLINE, Cause.STOPPED, Cause.BLOCKED,
    Cause.WOKEN_LATE, Cause.MIGRATION, Cause.STEAL, Cause.OUTSIDE,
})  # fmt: skip
#: What may have been the cause, and nobody saw it.
_UNSEEN = frozenset({Cause.UNEXPLAINED, Cause.NOT_OBSERVED})
#: No fix removes these: they are no causes.
NO_CAUSES = _UNSEEN | _OWN_WAY | {Cause.RECORDING, Cause.ASLEEP, Cause.OWN}


class UnknownCauseError(ValueError):
    """No late activation has the cause that was named."""


@dataclass(frozen=True)
class Removal:
    """Causes that are removed, or made faster.

    keys: causes with their details. speed: how many times as fast; None: they are removed.
    longest_ns: the longest that they took of any activation that was seen.
    """

    keys: frozenset[Key]
    speed: float | None = None
    longest_ns: int = 0

    def has(self, piece: Piece) -> bool:
        """Whether a piece is of these causes."""
        return cause_key(piece.cause, piece.detail) in self.keys

    def spent_ns(self, breakdown: Breakdown) -> int:
        """Return what they took of an activation."""
        return sum(piece.length_ns for piece in breakdown.pieces or () if self.has(piece))


@dataclass(frozen=True)
class Bounds:
    """The least and the most that a latency would have been, ns."""

    low_ns: int
    high_ns: int


def select_causes(name: str, keys: Collection[Key]) -> frozenset[Key]:
    """Return the causes that a name means: `interrupts disabled`, `thread make`, `[driver]`.

    A cause's name means all its details, a name with the beginning of a detail those, and another
    text every cause with it in its detail. Raises UnknownCauseError where it means none.
    """
    wanted = " ".join(name.split())
    named = [key for key in keys if key[0] not in NO_CAUSES]
    same = [key for key in named if f"{key[0]} {key[1]} ".startswith(f"{wanted} ")]
    begun = [key for key in named if f"{key[0]} {key[1]}".startswith(wanted) and " " in wanted]
    within = [key for key in named if wanted in key[1]]
    chosen = same or begun or within if wanted else []
    if not chosen:
        there = sorted({str(cause) for cause, _ in named})
        raise UnknownCauseError(
            f"no recorded activation has {name[:80]!r}; there are: {', '.join(there) or 'none'}"
        )
    return frozenset(chosen)


def longest_spent(breakdowns: Collection[Breakdown], removal: Removal) -> Removal:
    """Return the same removal with the longest that its causes took of any of these."""
    longest = max((removal.spent_ns(breakdown) for breakdown in breakdowns), default=0)
    return replace(removal, longest_ns=longest)


def bound_without(breakdown: Breakdown, removal: Removal, usual_ns: int = 0) -> Bounds:
    """Return how late an activation would have been, by the rule above.

    usual_ns: the latency of a usual activation. Nothing recorded: the cause may have been all of
    it, or nothing.
    """
    latency_ns = breakdown.latency_ns
    least_ns = min(max(usual_ns, 0), latency_ns)
    if breakdown.pieces is None:
        return Bounds(least_ns, latency_ns)
    unseen_ns = sum(p.length_ns for p in breakdown.pieces if p.cause in _UNSEEN)
    spent_ns = removal.spent_ns(breakdown)
    if not spent_ns:
        return Bounds(max(least_ns, latency_ns - unseen_ns), latency_ns)
    first = next(i for i, piece in enumerate(breakdown.pieces) if removal.has(piece))
    behind = [p for p in breakdown.pieces[first + 1 :] if not removal.has(p)]
    behind_ns = sum(p.length_ns for p in behind if p.cause not in _OWN_WAY | _UNSEEN)
    timed = any(p.cause in _TIMED for p in behind)
    part = 1.0 if removal.speed is None else 1 - 1 / removal.speed
    gained_ns = 0 if timed else max(0, int(spent_ns * part) - RESOLUTION_NS)
    most_ns = min(spent_ns, round(max(removal.longest_ns, spent_ns) * part))
    lost_ns = most_ns + behind_ns + unseen_ns + RESOLUTION_NS
    high_ns = latency_ns - gained_ns
    return Bounds(min(max(least_ns, latency_ns - lost_ns), high_ns), high_ns)


def clip_breakdown(
    breakdown: Breakdown, activation: int, due_ns: int, latency_ns: int
) -> Breakdown:
    """Return another activation of that CPU, which came due later in the same stall.

    Its pieces are those of the recorded activation from its own due time on.
    """
    end_ns = due_ns + latency_ns
    pieces = tuple(
        replace(piece, start_ns=max(piece.start_ns, due_ns), end_ns=min(piece.end_ns, end_ns))
        for piece in breakdown.pieces or ()
        if piece.end_ns > due_ns and piece.start_ns < end_ns
    )
    covered_ns = sum(piece.length_ns for piece in pieces)
    if covered_ns < latency_ns:
        pieces += (Piece(end_ns - (latency_ns - covered_ns), end_ns, Cause.NOT_OBSERVED),)
    return Breakdown(breakdown.cpu, activation, due_ns, latency_ns, pieces or None)
