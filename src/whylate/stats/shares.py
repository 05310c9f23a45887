"""Located shares: where the excess of late activations was spent.

share_C = Σ_late (x_C − b_C) / Σ_late (latency − Σ_C b_C), with x_C the time an episode spent in C
and b_C the mean of the same over control activations of its CPU. The shares sum to 1; negative
ones are as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whylate.stats.arrays import Bools, Floats, Int64s

RESAMPLES = 2000
#: Draws in memory at a time.
CHUNK = 100
LEVEL = 0.95
#: More CPUs than that have one body together: memory.
MOST_CPUS = 512
#: Fewer blocks with an episode in them say nothing of how the shares vary.
FEWEST_BLOCKS = 5


@dataclass(frozen=True)
class Spent:
    """Time spent in each cause, a row per activation.

    spent: float64 ns, shape (n, causes). cpu: int64, shape (n,). block: int64, shape (n,): rows
    of one block are resampled together, blocks being exchangeable.
    """

    spent: Floats
    cpu: Int64s
    block: Int64s

    def select(self, rows: Bools) -> Spent:
        """Return some of the rows; bool, shape (n,)."""
        return Spent(self.spent[rows], self.cpu[rows], self.block[rows])


@dataclass(frozen=True)
class Shares:
    """Located shares, float64, shape (causes,); low and high are NaN where nothing bounds them.

    excess_ns: their common denominator, over all late episodes.
    """

    share: Floats
    low: Floats
    high: Floats
    excess_ns: float


def estimate_shares(
    late: Spent, lost: Bools, lost_cause: int, body: Spent, rng: np.random.Generator
) -> Shares:
    """Return the shares with their intervals at 95 %.

    lost: bool, shape (n,): late episodes of which nothing was recorded. All their time stands in
    the column lost_cause, and so does their excess: the mean of control activations is taken
    from it, and from no cause that was not looked for in them.
    The interval is that of a bootstrap over blocks: those of the late episodes and of the body
    are drawn together. A CPU without a control activation has that of all CPUs,
    and so has each of more than MOST_CPUS.
    Raises ValueError without a late episode.
    """
    if not len(late.spent):
        raise ValueError("located_shares needs at least one late episode")
    cpus = np.unique(np.concatenate([late.cpu, body.cpu]))
    if len(cpus) > MOST_CPUS:
        late, body = (replace(spent, cpu=np.zeros_like(spent.cpu)) for spent in (late, body))
        cpus = np.zeros(1, np.int64)
    blocks = np.unique(np.concatenate([late.block, body.block]))
    sums = _Sums(
        *_by_block(late.select(~lost), cpus, blocks),
        *_by_block(late.select(lost), cpus, blocks),
        lost_cause,
        *_by_block(body, cpus, blocks),
    )
    share, excess = sums.shares(np.ones((1, len(blocks))))
    estimate = share[0]
    low = np.full_like(estimate, np.nan)
    high = np.full_like(estimate, np.nan)
    filled = np.count_nonzero((sums.late_count + sums.lost_count).sum(axis=1))
    if filled >= FEWEST_BLOCKS and excess[0] > 0:
        draws = []
        for _ in range(0, RESAMPLES, CHUNK):
            even = np.full(len(blocks), 1 / len(blocks))
            weights = rng.multinomial(len(blocks), even, CHUNK).astype(float)
            drawn, denominators = sums.shares(weights)
            draws.append(drawn[denominators > 0])
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(np.concatenate(draws), [tail, 1 - tail], axis=0)
    return Shares(estimate, low, high, float(excess[0]))


def _by_block(spent: Spent, cpus: Int64s, blocks: Int64s) -> tuple[Floats, Floats]:
    """Return sums of shape (blocks, cpus, causes) and counts of shape (blocks, cpus)."""
    sums = np.zeros((len(blocks), len(cpus), spent.spent.shape[1]))
    counts = np.zeros((len(blocks), len(cpus)))
    index = np.searchsorted(blocks, spent.block), np.searchsorted(cpus, spent.cpu)
    np.add.at(sums, index, spent.spent)
    np.add.at(counts, index, 1)
    return sums, counts


@dataclass(frozen=True)
class _Sums:
    """Sums of shape (blocks, cpus, causes) and counts of shape (blocks, cpus)."""

    late: Floats
    late_count: Floats
    lost: Floats
    lost_count: Floats
    lost_cause: int
    body: Floats
    body_count: Floats

    def shares(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return shares of shape (draws, causes) and denominators of shape (draws,).

        weights: how often each block was drawn, shape (draws, blocks).
        """
        body = np.einsum("db,bcx->dcx", weights, self.body)
        bodies = weights @ self.body_count
        mean = np.where(
            bodies[:, :, None] > 0,
            body / np.maximum(bodies, 1)[:, :, None],
            (body.sum(axis=1) / np.maximum(bodies.sum(axis=1), 1)[:, None])[:, None, :],
        )
        spent = np.einsum("db,bcx->dcx", weights, self.late + self.lost)
        excess = (spent - (weights @ self.late_count)[:, :, None] * mean).sum(axis=1)
        excess[:, self.lost_cause] -= (weights @ self.lost_count * mean.sum(axis=2)).sum(axis=1)
        total = excess.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return excess / total[:, None], total
