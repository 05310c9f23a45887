"""Sides of a comparison, made up run by run, with names that no page was made for."""

from __future__ import annotations

import math

import numpy as np

from whylate.compare.runs import Arm, Run
from whylate.stats.comparison.run_statistics import STATISTICS, exact_value
from whylate.stats.run.histogram import count_by_octave
from whylate.stats.run.values import count_values

HOSTILE = '<img src=x onerror=alert(1)>"\u202e&'


def arm(name: str, factor: float) -> Arm:
    rng = np.random.default_rng(len(name))
    found = []
    for number in range(8):
        latency_ns = rng.lognormal(math.log(10_000 * factor), 0.2, 4000).astype(np.int64)
        values = {
            one.name: exact_value(math.log(10_000 * factor * 2**k) + 0.01 * rng.standard_normal())
            for k, one in enumerate(STATISTICS)
        }
        octaves = count_by_octave(count_values(latency_ns))
        made = f"2026-01-01T00:00:{number:02d}"
        found.append(Run(f"{name}/{number}", values, 200_000, "b", made, octaves=octaves))
    return Arm(name, tuple(found))
