"""How much a board may send while it measures: what the plan can make of bytes and messages."""

from __future__ import annotations

from whylate.probe.budget import MIB, Budget
from whylate.recording.plan import RunPlan

#: Bytes of an activation with its stages and its thread, most of which take a tenth of that.
ACTIVATION_BYTES = 64
#: Wakeups of a watched program, each second on each CPU.
APP_RATE = 200_000
#: The probe copies at most 100 windows a second (probe/src/recorder/flight_windows.c).
WINDOWS_PER_S = 100
WINDOW_BYTES = 64 << 10
#: Of an execution, whose window may have all events of some CPUs for as long as their rings reach.
EXECUTION_WINDOW_BYTES = 512 << 10
EXECUTION_WINDOW_FRAMES = 128
#: Names, notes, results, and the windows of all CPUs where the first late activation ends the run.
BASE_BYTES = 4 * MIB
CPU_BYTES = MIB
BASE_FRAMES = 200_000
#: Messages each second of blocks, stages, progress, loads and windows; and of each CPU.
FRAMES_PER_S = 4_000
CPU_FRAMES_PER_S = 200
#: Of a repetition with its counts, its details and its output.
REPETITION_BYTES = 4096
#: Shipping goes on as long as so many bytes a second come: a line of 9600 baud carries 960.
LEAST_RATE = 500
#: Messages for each turn, beside those of its repetitions: output, and reports of loads.
TURN_FRAMES = 200_000


def measuring_budget(plan: RunPlan) -> Budget:
    """Return the budget of the measurement of a plan; its seconds are not bounded here."""
    size, frames = BASE_BYTES, BASE_FRAMES
    cpus = len(plan.measured_cpus) or 1
    size += CPU_BYTES * cpus
    if plan.activations is not None:
        duration_ns, interval_ns = plan.activations.duration_ns, plan.activations.interval_ns
        duration_s = duration_ns // 1_000_000_000 + 1
        each = duration_ns // interval_ns + 1 if interval_ns else APP_RATE * duration_s
        size += cpus * each * ACTIVATION_BYTES
        frames += (FRAMES_PER_S + CPU_FRAMES_PER_S * cpus) * duration_s + cpus * each // 8
        if plan.recorder is not None and plan.has_parts:
            size += WINDOWS_PER_S * EXECUTION_WINDOW_BYTES * duration_s
            frames += WINDOWS_PER_S * EXECUTION_WINDOW_FRAMES * duration_s
        elif plan.recorder is not None:
            size += WINDOWS_PER_S * WINDOW_BYTES * duration_s
    elif plan.benchmark is not None:
        rows = sum(
            plan.benchmark.points[index].rows * plan.benchmark.repetitions + 8
            for index in plan.benchmark.order
        )
        size += rows * REPETITION_BYTES + len(plan.benchmark.order) * plan.benchmark.turn_bytes
        frames += 16 * rows + TURN_FRAMES * len(plan.benchmark.order)
    return Budget("measured", size, frames, float("inf"))
