"""When a cause acts: in a part of the run only, or always at one phase of a period.

Each episode counts once, by when the cause's first piece in it began.

In a part of the run: that n episodes at random times all lie in some k consecutive tenths of it has
at most the probability (11 - k) (k/10)^n: there are 11 - k such parts.

At one phase: Rayleigh's test of the phases (Mardia and Jupp, Directional Statistics, 2000, section
6.3.1): p ≈ exp(-n R²), R the length of the mean of the unit vectors. The episodes of one turn of
the period count as one, at their mean: a burst is one. Periods no longer than that of the
activations are not asked about: their phases are the run's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.causes.population import Breakdown, Key, cause_key
from whylate.causes.window.piece import Cause

TENTHS = 10
#: A part that is longer than this is most of the run.
MOST_TENTHS = 5
#: Fewer episodes say nothing of when the next ones come.
FEWEST = 8
#: Family-wise, over all that is asked about one cause.
ALARM = 0.001
#: Phases are worth a word where they are so close together: R of a spread of about a tenth.
LEAST_R = 0.8
#: The kernel's ticks (HZ 1000, 300, 250, 100), periods of quotas, and round ones.
PERIODS_NS = (
    1_000_000, 3_333_333, 4_000_000, 10_000_000, 50_000_000, 100_000_000, 1_000_000_000,
)  # fmt: skip


@dataclass(frozen=True)
class Timing:
    """When a cause acts.

    tenths: its part of each tenth of the run, which sum to 1. first, last: the tenths, from 1, that
    all of its episodes lie in; None: they lie in no part of the run. period_ns: at one phase of
    which it acts; None: of none that was asked about.
    """

    cause: Cause
    detail: str
    episodes: int
    tenths: tuple[float, ...]
    first: int | None = None
    last: int | None = None
    period_ns: int | None = None


def find_timings(
    late: Iterable[Breakdown], keys: Sequence[Key], span: tuple[int, int], interval_ns: int
) -> tuple[Timing, ...]:
    """Return when each of these causes acts, in their order.

    late: episodes. span: start and end of the run. interval_ns: of the activations; 0: not known.
    """
    began: dict[Key, list[tuple[int, int]]] = {key: [] for key in keys}
    for episode in late:
        its: dict[Key, tuple[int, int]] = {}
        for piece in episode.pieces or ():
            key = cause_key(piece.cause, piece.detail)
            if key in began:
                start, length = its.get(key, (piece.start_ns, 0))
                its[key] = start, length + piece.length_ns
        for key, entry in its.items():
            began[key].append(entry)
    return tuple(_timing(key, began[key], span, interval_ns) for key in keys)


def _timing(
    key: Key, began: Sequence[tuple[int, int]], span: tuple[int, int], interval_ns: int
) -> Timing:
    start_ns, end_ns = span
    tenths = [0] * TENTHS
    for at_ns, length_ns in began:
        tenths[_tenth(at_ns, start_ns, end_ns)] += length_ns
    whole = max(1, sum(tenths))
    first, last = _part([_tenth(at, start_ns, end_ns) for at, _ in began])
    return Timing(
        *key, len(began), tuple(ns / whole for ns in tenths), first, last,
        _period(sorted(at for at, _ in began), interval_ns),
    )  # fmt: skip


def _tenth(at_ns: int, start_ns: int, end_ns: int) -> int:
    place = (at_ns - start_ns) * TENTHS // max(1, end_ns - start_ns)
    return min(max(place, 0), TENTHS - 1)


def _part(tenths: Sequence[int]) -> tuple[int | None, int | None]:
    """Return the part of the run that all lie in, if that is no chance."""
    if len(tenths) < FEWEST:
        return None, None
    first, last = min(tenths), max(tenths)
    width = last - first + 1
    by_chance = (TENTHS + 1 - width) * (width / TENTHS) ** len(tenths)
    if width > MOST_TENTHS or by_chance > ALARM:
        return None, None
    return first + 1, last + 1


def _period(began_ns: Sequence[int], interval_ns: int) -> int | None:
    """Return the longest period at whose one phase they all begin; None: there is none."""
    asked = [period for period in PERIODS_NS if period > interval_ns]
    for period in reversed(asked):
        at = np.array(began_ns, dtype=np.int64)
        vectors = np.exp(2j * np.pi * (at % period) / period)
        _, turn = np.unique(at // period, return_inverse=True)
        turns = int(turn.max(initial=-1)) + 1
        if turns < FEWEST:
            continue
        each = np.bincount(turn, vectors.real) + 1j * np.bincount(turn, vectors.imag)
        closeness = abs((each / np.bincount(turn)).mean())
        alike = np.exp(-turns * closeness**2) <= ALARM / len(PERIODS_NS)
        if closeness >= LEAST_R and alike:
            return period
    return None
