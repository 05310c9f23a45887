"""Clock reads: how the throughput grows with threads."""

from __future__ import annotations

from collections import defaultdict

from whylate.predict.sweep import Source, Sweep, make_sweep
from whylate.recording.workloads.clock import ClockPoint
from whylate.summary.workloads.clock_rows import throughputs

#: The emulated device sleeps in longer waits (probe/src/benchmark/serial_device.c): its users need
#: no CPU of their own.
_SLEEPS_FROM_NS = 200_000


def read_clock_sweeps(source: Source) -> list[Sweep]:
    """Return the calls per µs of each clock over the number of threads.

    Models are not fitted to more threads than can run at once: those share CPUs as well.
    """
    plan = source.manifest.plan
    benchmark = plan.benchmark
    assert benchmark is not None  # noqa: S101 (the registry chose this function by the plan)
    groups: dict[str, dict[int, list[float]]] = defaultdict(dict)
    crowded: dict[str, list[int]] = defaultdict(list)
    cpus = len(plan.measured_cpus)
    for index, point in enumerate(benchmark.points):
        assert isinstance(point, ClockPoint)  # noqa: S101
        rows = source.repetitions.where(source.repetitions.column("point") == index)
        name = f"{point.clock} by {point.how}"
        sleeps = False
        if point.how == "device":
            name = f"device, service {point.service_ns} ns, think {point.think_ns} ns"
            sleeps = min(point.service_ns, point.think_ns) >= _SLEEPS_FROM_NS
        groups[name][point.threads] = throughputs(rows).tolist() if rows.n else []
        at_once = min(len(set(point.cpus)) or cpus, plan.host_cpus or cpus)
        if point.threads > at_once and not sleeps:
            crowded[name].append(point.threads)
    reason = "more threads than CPUs share these as well"
    return [
        make_sweep(name, "threads", "calls_per_us", "calls/µs", values, crowded[name], reason)
        for name, values in groups.items()
    ]
