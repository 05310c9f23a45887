"""Sides of comparisons, made up run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whylate.compare.runs import Arm, Run
from whylate.stats.comparison.run_statistics import STATISTICS, Value

SETS = {"workload": "wakeup", "interval": "1ms", "time": "real"}


def run(
    name: str,
    level_ns: float = 10_000,
    spread: Sequence[float] = (0.0,) * len(STATISTICS),
    *,
    boot: str | None = "b",
    made: str = "",
    hidden: float = 0.0,
    activations: int = 200_000,
    distrust: tuple[str, ...] = (),
) -> Run:
    """Return a run whose statistics are level_ns times 1, 2, 4, …, each moved by its spread.

    hidden: how much higher the logarithms of those from p99.9 on may be.
    """
    logs = [math.log(level_ns * 2**number) + spread[number] for number in range(len(STATISTICS))]
    values = {
        one.name: Value(log, log + hidden if number > 1 else log)
        for number, (one, log) in enumerate(zip(STATISTICS, logs, strict=True))
    }
    return Run(name, values, activations, boot=boot, made=made, distrust=distrust, sets=SETS)


def arm(
    name: str,
    runs: int,
    factor: float = 1.0,
    *,
    seed: int = 1,
    sd: float = 0.05,
    boot: str | None = "b",
    hidden: float = 0.0,
    only: int | None = None,
) -> Arm:
    """Return a side whose runs spread by sd, all of its statistics or one times `factor`."""
    rng = np.random.default_rng([seed, len(name)])
    found = []
    for number in range(runs):
        spread = sd * rng.standard_normal(len(STATISTICS))
        moved = np.full(len(STATISTICS), math.log(factor))
        if only is not None:
            moved[np.arange(len(STATISTICS)) != only] = 0
        found.append(
            run(f"{name}-{number}", spread=(spread + moved).tolist(), boot=boot, hidden=hidden)
        )
    return Arm(name, tuple(found))
