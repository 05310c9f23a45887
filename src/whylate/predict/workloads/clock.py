"""Clock reads: how the throughput grows with threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from whylate.predict.sweep import Source, Sweep, make_sweep
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.clock import ClockPoint, Remedy
from whylate.summary.workloads.clock_rows import throughputs

#: The emulated device sleeps in longer waits (probe/src/benchmark/serial_device.c): its users need
#: no CPU of their own.
_SLEEPS_FROM_NS = 200_000
#: What forecasts of readers that share their readings have as their change.
SHARED = "one reading serves all who wait"
#: The same, where values must not be older than the call.
STRICT = "a reading serves those who came before it began"
#: What a form of remedies/shared_read.h changes. Direct reads in that form are as those without it.
_CHANGES: dict[Remedy | None, str] = {
    None: "",
    "direct": "",
    "relaxed": SHARED,
    "strict": STRICT,
    "locked": "readers take turns by a lock",
}
#: Whoever waits for a reading of another there needs a CPU.
_POLL = ("relaxed", "strict")


def cpus_of(plan: RunPlan, cpus: Collection[int] = ()) -> int:
    """Return how many threads can run at once, on these CPUs or on all that were measured."""
    asked = len(set(cpus) or set(plan.measured_cpus))
    return min(asked, plan.host_cpus or asked)


def read_clock_sweeps(source: Source) -> list[Sweep]:
    """Return the calls per µs of each clock over the number of threads, of each form by itself.

    Models are not fitted to more threads than can run at once: those share CPUs as well.
    """
    plan = source.manifest.plan
    benchmark = plan.benchmark
    assert benchmark is not None  # noqa: S101 (the registry chose this function by the plan)
    groups: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
    crowded: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, point in enumerate(benchmark.points):
        assert isinstance(point, ClockPoint)  # noqa: S101
        rows = source.repetitions.where(source.repetitions.column("point") == index)
        name = f"{point.clock} by {point.how}"
        sleeps = False
        if point.how == "device":
            # In a form the device takes exactly that time, without one that time on average.
            how = "service" if point.remedy is None else "service exactly"
            name = f"device, {how} {point.service_ns} ns, think {point.think_ns} ns"
            sleeps = (
                min(point.service_ns, point.think_ns) >= _SLEEPS_FROM_NS
                and point.remedy not in _POLL
            )
        key = name, _CHANGES[point.remedy]
        groups[key][point.threads] = throughputs(rows).tolist() if rows.n else []
        if point.threads > cpus_of(plan, point.cpus) and not sleeps:
            crowded[key].append(point.threads)
    reason = "more threads than CPUs share these as well"
    return [
        make_sweep(
            name,
            "threads",
            "calls_per_us",
            "calls/µs",
            values,
            crowded[name, change],
            reason,
            change,
        )
        for (name, change), values in groups.items()
    ]
