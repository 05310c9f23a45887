"""Tails of runs, drawn from a generalised Pareto distribution that is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.stats.run.episodes import Peaks
from whylate.stats.tail.return_level import RunTail

#: Of each run: rows at 1 kHz, and one episode above FLOOR_NS in so many of them.
ROWS, ONE_IN, FLOOR_NS = 100_000, 100, 20_000
SCALE_NS = 12_000.0


def excess_ns(rng: np.random.Generator, n: int, shape: float) -> NDArray[np.float64]:
    uniform = rng.random(n)
    if shape == 0:
        return -SCALE_NS * np.log(uniform)
    return SCALE_NS * np.expm1(-shape * np.log(uniform)) / shape


def level_ns(every_s: float, shape: float = 0.2) -> float:
    """Return the latency that an episode of these runs exceeds once in every_s."""
    growth = math.log(every_s * 1000 / ONE_IN)
    return FLOOR_NS + SCALE_NS * math.expm1(shape * growth) / shape


def tail(peaks_ns: NDArray[Any], seed: int = 0, **changes: Any) -> RunTail:
    level = np.random.default_rng([7, seed]).normal(0, 0.01)
    found = RunTail(
        peaks=Peaks(peaks_ns.astype(np.int64), np.zeros(len(peaks_ns), bool)),
        floor_ns=FLOOR_NS,
        seconds=ROWS / 1000,
        theta=0.9,
        rows=ROWS,
        p50_ns=round(5_000 * math.exp(level)),
        p99_ns=round(9_000 * math.exp(level)),
        drift_p=0.5,
    )
    return replace(found, **changes)


def tails(runs: int = 10, shape: float = 0.2, seed: int = 1) -> list[RunTail]:
    """Return runs that differ in the rate of their episodes by a fifth, as runs do."""
    rng = np.random.default_rng([6, seed])
    found = []
    for number in range(runs):
        rate = ROWS / ONE_IN * math.exp(0.2 * rng.standard_normal() - 0.02)
        peaks = FLOOR_NS + excess_ns(rng, rng.poisson(rate), shape)
        found.append(tail(peaks, number))
    return found
