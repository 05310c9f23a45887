"""All late activations of a run together: where their excess was spent, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.causes.window.piece import Cause, Piece
from whylate.stats.shares import Shares, Spent, estimate_shares

#: A cause is significant if the lower 95 % bound of its share reaches this,
SIGNIFICANT_SHARE = 0.10
#: and if its mean excess per late episode reaches this.
SIGNIFICANT_NS = 2_000
#: Blocks of equal time that a run is cut into: what is drawn together for the intervals.
BLOCKS = 60
#: Causes with a row of their own; the rest are summed up as "other".
MOST_CAUSES = 200
OTHER = "other"
#: An event is stamped somewhere within the code that it tells of: where a cause's time begins and
#: where it ends are each known to so much. Drawing episodes does not show it, for it is the same in
#: all of them: the intervals are so much wider, for each episode with the cause.
RESOLUTION_NS = 1_000
#: Pieces of these say nothing by their detail in a population.
_WITHOUT_DETAIL = frozenset({Cause.UNEXPLAINED, Cause.SCHEDULING, Cause.THROTTLING})
#: Never significant: not known, not the board's, or an activation's own way and an execution's own
#: code, of which no event says why it took longer than in control activations.
_UNNAMED = frozenset({
    Cause.UNEXPLAINED, Cause.NOT_OBSERVED, Cause.RECORDING, Cause.SCHEDULING, Cause.RETURN,
    Cause.OWN,
})  # fmt: skip

Key = tuple[Cause, str]
_LOST: Key = (Cause.NOT_OBSERVED, "")


class NoExcessError(ValueError):
    """Late activations took no longer than control activations."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One activation with its pieces.

    pieces None: it was late, and no window of it was recorded.
    """

    cpu: int
    activation: int
    due_ns: int
    latency_ns: int
    pieces: tuple[Piece, ...] | None

    def by_cause(self) -> dict[Key, int]:
        """Return the ns spent in each cause; they sum to the latency."""
        if self.pieces is None:
            return {_LOST: self.latency_ns}
        spent: Counter[Key] = Counter()
        for piece in self.pieces:
            spent[cause_key(piece.cause, piece.detail)] += piece.length_ns
        return dict(spent)


def recorded(pieces: tuple[Piece, ...]) -> tuple[Piece, ...] | None:
    """Return an activation's pieces, None where nothing of it was recorded."""
    lost = all(piece.cause is Cause.NOT_OBSERVED and not piece.detail for piece in pieces)
    return None if pieces and lost else pieces


def cause_key(cause: Cause, detail: str) -> Key:
    """Return what a piece counts for in a population."""
    return cause, "" if cause in _WITHOUT_DETAIL else detail


@dataclass(frozen=True)
class CauseShare:
    """What one cause has of the tail's excess.

    share, low, high: of all excess, the interval at 95 % (None where there are too few episodes
    for one). mean_ns: of excess per late episode. in_late, in_control: the part of the late and of
    the control activations in which it took any time.
    """

    cause: Cause
    detail: str
    share: float
    low: float | None
    high: float | None
    mean_ns: float
    in_late: float
    in_control: float
    significant: bool


@dataclass(frozen=True)
class Population:
    """The answer for a run; causes: the largest share first, and they sum to 1."""

    causes: list[CauseShare]
    episodes: int
    recorded: int
    control: int
    excess_ns: float

    @property
    def significant(self) -> list[CauseShare]:
        """The significant causes."""
        return [share for share in self.causes if share.significant]


def locate_shares(
    late: Sequence[Breakdown],
    control: Sequence[Breakdown],
    start_ns: int,
    end_ns: int,
    seed: int = 0,
) -> Population:
    """Return the located shares of a run whose activations were due in [start_ns, end_ns).

    late: one for each episode, recorded or not. control: drawn at random.
    Raises ValueError without a late episode, and NoExcessError if late activations took no longer
    than control activations: there is no excess to share.
    """
    late_spent = [activation.by_cause() for activation in late]
    body_spent = [activation.by_cause() for activation in control]
    keys = _keys(late_spent, body_spent)
    block_ns = max(1, -(-(end_ns - start_ns) // BLOCKS))
    shares = estimate_shares(
        _spent(late, late_spent, keys, start_ns, block_ns),
        np.array([activation.pieces is None for activation in late]),
        keys[_LOST],
        _spent(control, body_spent, keys, start_ns, block_ns),
        np.random.default_rng(seed),
    )
    if not shares.excess_ns > 0:
        raise NoExcessError
    order = sorted(range(len(keys)), key=lambda k: (-shares.share[k], keys[list(keys)[k]]))
    names = list(keys)
    in_late, in_control = _prevalence(late_spent, keys), _prevalence(body_spent, keys)
    causes = [_share(names[k], k, shares, len(late), in_late[k], in_control[k]) for k in order]
    return Population(
        causes=causes,
        episodes=len(late),
        recorded=sum(activation.pieces is not None for activation in late),
        control=len(control),
        excess_ns=shares.excess_ns,
    )


def _keys(*spent: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    """Return the causes that get a row each, and their columns."""
    total: Counter[Key] = Counter()
    for rows in spent:
        for row in rows:
            total.update(row)
    total[_LOST] += 0
    kept = [key for key, _ in total.most_common(MOST_CAUSES)]
    kept += [_LOST] if _LOST not in kept else []
    for cause in {key[0] for key in total if key not in kept}:
        if (cause, OTHER) not in kept:
            kept.append((cause, OTHER))
    return {key: column for column, key in enumerate(kept)}


def _column(keys: Mapping[Key, int], key: Key) -> int:
    return keys[key] if key in keys else keys[key[0], OTHER]


def _spent(
    rows: Sequence[Breakdown],
    spent: Sequence[Mapping[Key, int]],
    keys: Mapping[Key, int],
    start_ns: int,
    block_ns: int,
) -> Spent:
    matrix = np.zeros((len(rows), len(keys)))
    for row, row_spent in enumerate(spent):
        for key, ns in row_spent.items():
            matrix[row, _column(keys, key)] += ns
    return Spent(
        matrix,
        np.array([row.cpu for row in rows], np.int64),
        np.array(
            [min(max((row.due_ns - start_ns) // block_ns, 0), BLOCKS) for row in rows], np.int64
        ),
    )


def _prevalence(spent: Sequence[Mapping[Key, int]], keys: Mapping[Key, int]) -> list[float]:
    counts = np.zeros(len(keys))
    for row in spent:
        counts[[_column(keys, key) for key in {k for k, ns in row.items() if ns}]] += 1
    shares: list[float] = (counts / max(len(spent), 1)).tolist()
    return shares


def _share(
    key: Key, column: int, shares: Shares, episodes: int, in_late: float, in_control: float
) -> CauseShare:
    share, low, high = (float(a[column]) for a in (shares.share, shares.low, shares.high))
    bounded = np.isfinite(low) and np.isfinite(high)
    mean_ns = share * shares.excess_ns / episodes
    if bounded:
        blur = 2 * RESOLUTION_NS * in_late * episodes / shares.excess_ns
        low, high = low - blur, high + blur
    named = key[0] not in _UNNAMED
    return CauseShare(
        cause=key[0],
        detail=key[1],
        share=share,
        low=low if bounded else None,
        high=high if bounded else None,
        mean_ns=mean_ns,
        in_late=in_late,
        in_control=in_control,
        significant=bool(
            named and bounded and low >= SIGNIFICANT_SHARE and mean_ns >= SIGNIFICANT_NS
        ),
    )
