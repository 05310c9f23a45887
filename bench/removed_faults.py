"""Compare latencies that are predicted without a fault with those measured without it.

    python bench/removed_faults.py DIRECTORY

Measures the virtual board pc in virtual time, 4 s each: without a fault, with each, with two
together. What is in DIRECTORY already is not measured again. Prints the table of
docs/how-to/predict-without.md. It takes about 20 s a run.
"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from whylate.predict.without import QUANTILES, predict_without
from whylate.recording.reader import open_recording
from whylate.stats.run.ordered import merge_ordered, sort_series

#: A recording: its seed and its faults.
RUNS: dict[str, tuple[int, tuple[str, ...]]] = {
    "none": (1, ()),
    "none-2": (2, ()),
    "bulk-400": (1, ("bulk-lock size_us=400",)),
    "bulk-200": (1, ("bulk-lock size_us=200",)),
    "irqs-150": (1, ("irqs-off size_us=150 period_us=12000",)),
    "irqs-75": (1, ("irqs-off size_us=75 period_us=12000",)),
    "task": (1, ("rt-task size_us=200 period_us=15000",)),
    "preempt": (1, ("preempt-off size_us=200",)),
    "irq": (1, ("slow-irq size_us=100",)),
    "softirq": (1, ("softirq-storm size_us=300",)),
    "preempt-2": (2, ("preempt-off size_us=300 seed=2",)),
    "irq-2": (2, ("slow-irq size_us=150 seed=2",)),
    "softirq-2": (2, ("softirq-storm size_us=150 seed=2",)),
    "irqs+task": (
        1,
        ("irqs-off size_us=150 period_us=12000", "rt-task size_us=200 period_us=15000"),
    ),
    "preempt+irq": (1, ("preempt-off size_us=200", "slow-irq size_us=100")),
    "softirq+preempt": (
        2,
        ("softirq-storm size_us=150 seed=2", "preempt-off size_us=300 seed=2"),
    ),
}
#: A recording, what is removed or made faster, and the recording of what remains.
CASES: tuple[tuple[str, str, float | None, str], ...] = (
    ("bulk-400", "bulk_lock", None, "none"),
    ("bulk-200", "bulk_lock", None, "none"),
    ("irqs-150", "irqs_off", None, "none"),
    ("irqs-75", "irqs_off", None, "none"),
    ("task", "rt_task", None, "none"),
    ("preempt", "preempt_off", None, "none"),
    ("irq", "slow_irq", None, "none"),
    ("softirq", "softirq_storm", None, "none"),
    ("preempt-2", "preempt_off", None, "none-2"),
    ("irq-2", "slow_irq", None, "none-2"),
    ("softirq-2", "softirq_storm", None, "none-2"),
    ("irqs+task", "irqs_off", None, "task"),
    ("irqs+task", "rt_task", None, "irqs-150"),
    ("preempt+irq", "preempt_off", None, "irq"),
    ("preempt+irq", "slow_irq", None, "preempt"),
    ("softirq+preempt", "softirq_storm", None, "preempt-2"),
    ("softirq+preempt", "preempt_off", None, "softirq-2"),
    ("bulk-400", "bulk_lock", 2, "bulk-200"),
    ("irqs-150", "irqs_off", 2, "irqs-75"),
)


def measure(directory: Path, seed: int, faults: tuple[str, ...]) -> None:
    """Make a recording that is not there yet."""
    if directory.exists():
        return
    arguments = [
        "measure", "pc", "--virtual-time", "--smp", "1", "--for", "4s", "--interval", "250us",
        "--threshold", "30us", "--seed", str(seed), "-o", str(directory),
    ]  # fmt: skip
    for fault in faults:
        arguments += ["--fault", fault]
    subprocess.run(
        [sys.executable, "-m", "whylate", *arguments], check=True, stdout=subprocess.DEVNULL
    )


def measured_ns(directory: Path) -> dict[str, int]:
    """Return the quantiles of a recording by name."""
    ordered = merge_ordered([sort_series(cpu) for cpu in open_recording(directory).series])
    return {name: ordered.at_least(math.ceil(q * ordered.n) - 1) for name, q in QUANTILES.items()}


def main(place: Path) -> None:
    """Measure what lacks, and print a row for each forecast."""
    place.mkdir(parents=True, exist_ok=True)
    for name, (seed, faults) in RUNS.items():
        measure(place / name, seed, faults)
    held = made = 0
    print("| faults | without | | recorded | predicted | measured |\n|---|---|---|---|---|---|")
    for name, cause, speed, remains in CASES:
        forecast = predict_without(open_recording(place / name), [cause], speed)
        measured = measured_ns(place / remains)
        for figure in forecast.quantiles:
            low, high = figure.low_ns or 0, figure.high_ns or math.inf
            holds = low <= measured[figure.name] <= high
            held, made = held + holds, made + 1
            how = cause if speed is None else f"{cause} at speed {speed:g}"
            limits = f"{low / 1e3:.2f} … {high / 1e3:.2f}"
            missed = "" if holds else " (outside)"
            print(
                f"| {', '.join(RUNS[name][1])} | {how} | {figure.name} | "
                f"{figure.recorded_ns / 1e3:.2f} | {limits} | "
                f"{measured[figure.name] / 1e3:.2f}{missed} |"
            )
    print(f"\n{held} of {made} measured figures lie in their intervals")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
