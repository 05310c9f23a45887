"""Work in chunks: its time and the delay of others over the size of a chunk."""

from __future__ import annotations

from collections import defaultdict

from whylate.predict.sweep import Source, Sweep, make_sweep
from whylate.recording.workloads.bulk import BulkPoint
from whylate.summary.workloads.bulk_rows import delay_names, in_turns, work_in_turns

AXIS = "lines"
#: Time between two signals (probe/src/workloads/bulk.c).
PERIOD_NS = 200_000


def series_of(point: BulkPoint) -> str:
    """Return what is swept: the whole work, and where it runs."""
    where = "" if point.cpu is None else f" on CPU {point.cpu}"
    return f"{point.lines} lines cleaned in chunks{where}"


def read_chunk_sweeps(*sources: Source) -> list[Sweep]:
    """Return the time of the work and each known delay over the lines of a chunk.

    Rounds of all sources stand together. What the tuner chose is no place: it differs by turn.
    """
    groups: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for source in sources:
        benchmark = source.manifest.plan.benchmark
        assert benchmark is not None  # noqa: S101 (the registry chose this function by the plan)
        for index, point in enumerate(benchmark.points):
            assert isinstance(point, BulkPoint)  # noqa: S101
            rows = source.repetitions.where(source.repetitions.column("point") == index)
            # A signal that never came has a delay of 0.
            if not point.chunk or not rows.n or (rows.column("delays") <= 0).any():
                continue
            series = series_of(point)
            groups[series, "work_ns"][point.chunk] += work_in_turns(rows).tolist()
            for name in delay_names(rows):
                delays = in_turns(rows, rows.column(name).astype(float))
                groups[series, name][point.chunk] += delays.tolist()
    return [
        make_sweep(series, AXIS, quantity, "ns", values)
        for (series, quantity), values in groups.items()
    ]
