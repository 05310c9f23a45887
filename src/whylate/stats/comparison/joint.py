"""Do two sets of runs differ in any of several statistics? A joint permutation test.

The unit is the run. Under the null hypothesis runs are exchangeable: between the arms or, where
they were made in pairs and pairs differ much, within each pair. Each relabelling is looked at as a
whole, so that whatever dependence there is between the statistics is allowed for.

Values far from the others count as if they were nearer: one run in which the machine's host stopped
it for long would else hide what all others show. The limits are taken from all runs together,
whichever arm they are of, so that the test keeps its level.

What is summed over the statistics is a high power of the weighted t: near their maximum where one
of them stands out, and more where several do, as those of a tail do together (Xu, Lin, Wei and Pan
2016, Biometrika 103, "sum of powered scores"). What each statistic shows by itself follows from
the closed test (Marcus, Peritz and Gabriel 1976, Biometrika 63): it differs where every set of
statistics that has it does. Of many statistics it differs where its t is beyond what the largest of
all comes to (Westfall and Young 1993, Resampling-Based Multiple Testing, single-step maxT). Errors
in any of them are so held to the level of the test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from whylate.stats.arrays import Floats

#: Up to so many relabellings all are tried, else so many at random.
MOST_RELABELLINGS = 20_000
#: Relabellings that are looked at at a time.
_CHUNK = 2_000
#: The power to which each t is raised.
_POWER = 6
#: From the median of absolute deviations to the standard deviation, of normal values.
_TO_SD = 1.4826
#: Standard deviations beyond which a value is cut. It costs normal values a hundredth of their
#: power, and one run in ten that is far from the others costs little (bench/calibrate_compare.py).
_REACH = 1.5
#: Sums in another order differ in their last digits, and are equal all the same.
_EQUAL = 1e-9
#: Largest part of the variance between arms that differs from all of it.
_ALL = 1 - 1e-12
#: The closed test looks at every set of statistics: 2^this. Of more the largest t is looked at.
MOST_STATISTICS = 10


@dataclass(frozen=True)
class JointTest:
    """What a joint test found.

    p: that any statistic differs. each: of the statistics, adjusted for all of them, float64,
    shape (statistics,). t: Student's t of each, positive where the second arm is higher.
    smallest_p: what so few runs could show at best. relabellings: how many were looked at, the
    real one among them. every: whether they were all. paired: whether runs were exchanged within
    pairs alone.
    """

    p: float
    each: Floats
    t: Floats
    smallest_p: float
    relabellings: int
    every: bool
    paired: bool


def joint_test(
    first: Floats, second: Floats, weights: Floats, rng: np.random.Generator
) -> JointTest:
    """Test that no statistic differs between two sets of runs, whichever runs are exchanged.

    first, second: float64, shapes (runs, statistics). weights: what each statistic counts, float64,
    shape (statistics,). Raises ValueError where a set is empty, or has other statistics.
    """
    m, n = len(first), len(second)
    if not m or not n or first.shape[1:] != second.shape[1:]:
        raise ValueError("a joint test needs runs on both sides, with the same statistics")
    # From the first run on: what is the same in all of them is then exactly zero.
    values = np.concatenate([first, second]) - first[0]
    values = _nearer(values, np.median(values, axis=0))
    squares = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    ways = math.comb(m + n, m)
    every = ways <= MOST_RELABELLINGS
    # Of two sets of one size each relabelling has its mirror image.
    least = (2 if m == n else 1) / ways if every else 1 / MOST_RELABELLINGS

    def t(weights: Floats) -> Floats:
        return _t((weights @ values) * math.sqrt(m * n / (m + n)), squares, m + n - 2)

    relabelled = _labels(m, n, rng, every=every)
    return _test((t(part) for part in relabelled), weights, least, every=every, paired=False)


def paired_test(differences: Floats, weights: Floats, rng: np.random.Generator) -> JointTest:
    """Test that no statistic differs within pairs of runs.

    differences: second - first of each pair, float64, shape (pairs, statistics). The order within
    each pair must have been random. Raises ValueError without a pair.
    """
    pairs = len(differences)
    if not pairs:
        raise ValueError("a paired test needs at least one pair")
    differences = _nearer(differences, np.zeros(differences.shape[1]))
    squares = (differences**2).sum(axis=0)
    every = 2**pairs <= MOST_RELABELLINGS
    least = 2 / 2**pairs if every else 1 / MOST_RELABELLINGS

    def t(signs: Floats) -> Floats:
        return _t(signs @ differences / math.sqrt(pairs), squares, pairs - 1)

    flipped = _signs(pairs, rng, every=every)
    return _test((t(part) for part in flipped), weights, least, every=every, paired=True)


def fewest_runs(alpha: float) -> int:
    """Return the runs an arm with which a joint test can show anything at that level."""
    return next(n for n in range(2, 100) if 2 / math.comb(2 * n, n) <= alpha)


def fewest_pairs(alpha: float) -> int:
    """Return the pairs with which a paired test can show anything at that level."""
    return math.ceil(1 - math.log2(alpha))


def _nearer(values: Floats, centre: Floats) -> Floats:
    """Return values of shape (runs, statistics), with those far from the centre cut (winsorised).

    Where half of them and more are the centre nothing is cut: what is far is then not known.
    """
    spread = _TO_SD * np.median(np.abs(values - centre), axis=0)
    reach = np.where(spread > 0, _REACH * spread, np.inf)
    cut: Floats = np.clip(values, centre - reach, centre + reach)
    return cut


def _t(distance: Floats, squares: Floats, degrees: int) -> Floats:
    """Return Student's t.

    distance: shape (relabellings, statistics); its square is the part of `squares` that is between
    the arms. The sum of squares is the same in all relabellings.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.nan_to_num(np.abs(distance) / np.sqrt(squares))
    part = np.minimum(part, math.sqrt(_ALL))
    return np.sign(distance) * part * np.sqrt(max(degrees, 1) / (1 - part**2))


def _labels(m: int, n: int, rng: np.random.Generator, *, every: bool) -> Iterator[Floats]:
    """Give what each run weighs in the difference of means, a chunk of relabellings at a time."""
    total = m + n
    chosen = np.array(list(combinations(range(total), m))) if every else None
    count = len(chosen) if chosen is not None else MOST_RELABELLINGS
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
        if chosen is not None:
            part = chosen[start : start + size]
        else:
            part = rng.random((size, total)).argsort(axis=1)[:, :m]
            if start == 0:
                part[0] = np.arange(m)
        weights = np.full((size, total), 1 / n)
        np.put_along_axis(weights, part, -1 / m, axis=1)
        yield weights


def _signs(pairs: int, rng: np.random.Generator, *, every: bool) -> Iterator[Floats]:
    """Give signs of the pairs, a chunk of relabellings at a time."""
    if every:
        signs = np.array(list(product((1.0, -1.0), repeat=pairs)))
        yield from np.array_split(signs, max(1, len(signs) // _CHUNK))
        return
    for start in range(0, MOST_RELABELLINGS, _CHUNK):
        part = rng.choice([1.0, -1.0], (min(_CHUNK, MOST_RELABELLINGS - start), pairs))
        if start == 0:
            part[0] = 1.0
        yield part


def _test(
    parts: Iterator[Floats], weights: Floats, least: float, *, every: bool, paired: bool
) -> JointTest:
    """Compare the real relabelling, which is the first, with all: for each set of statistics."""
    columns = len(weights)
    many = columns > MOST_STATISTICS
    # Of many statistics there are too many sets: that of all, and the largest t in place of others.
    sets = np.array(list(product((False, True), repeat=columns)))[1:] if not many else (
        np.ones((1, columns), bool)
    )  # fmt: skip
    as_much = np.zeros(len(sets), np.int64)
    beyond = np.zeros(columns, np.int64)
    count = 0
    real_sums = real = t = np.empty(0)
    for relabelled in parts:
        scores = weights * np.abs(relabelled)
        sums = scores**_POWER @ sets.T
        if not count:
            real_sums, real, t = sums[0], scores[0], relabelled[0]
        as_much += (sums >= real_sums * (1 - _EQUAL)).sum(axis=0)
        beyond += (scores.max(axis=1)[:, None] >= real * (1 - _EQUAL)).sum(axis=0)
        count += len(relabelled)
    p = as_much / count
    each = np.array([p[sets[:, column]].max() for column in range(columns)])
    return JointTest(float(p[-1]), beyond / count if many else each, t, least, count, every, paired)
