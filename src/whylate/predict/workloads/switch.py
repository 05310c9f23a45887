"""Context switches: how many hops a token makes over the number of tasks in the ring."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec.structs import replace

from whylate.predict.sweep import Source, Sweep, make_sweep
from whylate.recording.workloads.point_names import series_names
from whylate.recording.workloads.switch import SwitchPoint


def read_switch_sweeps(source: Source) -> list[Sweep]:
    """Return the hops per µs of each setting over the number of tasks."""
    benchmark = source.manifest.plan.benchmark
    assert benchmark is not None  # noqa: S101 (the registry chose this function by the plan)
    points = [point for point in benchmark.points if isinstance(point, SwitchPoint)]
    settings = [replace(point, tasks=1) for point in points]
    names = series_names(settings) if len(set(settings)) > 1 else [""] * len(settings)
    groups: dict[str, dict[int, list[float]]] = defaultdict(dict)
    for index, (name, point) in enumerate(zip(names, points, strict=True)):
        rows = source.repetitions.where(source.repetitions.column("point") == index)
        turns, ring_ns = rows.column("turn"), rows.column("ring_ns").astype(float)
        rates = 1e3 * rows.column("hops") / np.maximum(ring_ns, 1)
        groups[name][point.tasks] = [
            float(np.median(rates[turns == turn])) for turn in np.unique(turns)
        ]
    return [
        make_sweep(name or "ring of tasks", "tasks", "hops_per_us", "hops/µs", values)
        for name, values in groups.items()
    ]
