"""Compare latencies that are predicted without a fault with those measured without it.

    python bench/removed_faults.py DIRECTORY

Measures the virtual board pc in virtual time, 4 s each: without a fault, with each, with two
together; in GROUPS with six seeds, of which two have another interval and two another board. What
is predicted from a run of a group is held against a run with another seed. What is in DIRECTORY
already is not measured again. Prints the table of docs/how-to/predict-without.md. It takes about
20 s a run.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whylate.causes.counterfactual import UnknownCauseError
from whylate.predict.without import QUANTILES, predict_without
from whylate.recording.reader import open_recording
from whylate.stats.run.cpu_series import observed_s
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.ordered import merge_ordered, sort_series

#: Above it episodes are counted.
ABOVE_NS = 50_000
RATE = "episodes above 50 µs"
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

#: Of each group: its faults by name, and which come together.
GROUP_FAULTS: dict[str, str] = {
    "bulk": "bulk-lock size_us=300",
    "irqs": "irqs-off size_us=120 period_us=9000",
    "task": "rt-task size_us=250 period_us=11000",
    "preempt": "preempt-off size_us=150",
    "irq": "slow-irq size_us=80",
    "softirq": "softirq-storm size_us=200",
}
PAIRS = (("bulk", "irq"), ("irqs", "softirq"), ("task", "preempt"))


@dataclass(frozen=True)
class Group:
    """Recordings with one seed. other: the seed of those that are held against them."""

    seed: int
    other: int
    interval: str = "250us"
    board: str = "pc"
    faults: tuple[str, ...] = tuple(GROUP_FAULTS)

    @property
    def injected(self) -> list[tuple[str, ...]]:
        """Which faults come together in a recording."""
        pairs = [pair for pair in PAIRS if set(pair) <= set(self.faults)]
        return [*((name,) for name in self.faults), *pairs]

    def name(self, faults: tuple[str, ...], seed: int) -> str:
        """Return the recording's name."""
        return f"{'+'.join(faults) or 'none'}-seed{seed}"


#: On virt-arm64: the program. The others are modules, whose recordings are of pc alone.
_ARM_FAULTS = ("task",)
GROUPS = (
    Group(3, 4),
    Group(4, 3),
    Group(5, 6, "500us"),
    Group(6, 5, "500us"),
    Group(7, 8, board="virt-arm64", faults=_ARM_FAULTS),
    Group(8, 7, board="virt-arm64", faults=_ARM_FAULTS),
)


@dataclass(frozen=True)
class Case:
    """A forecast: from which recording, without which causes, and where what remains is."""

    recording: str
    faults: tuple[str, ...]
    causes: tuple[str, ...]
    speed: float | None
    remains: str


def cases() -> Iterator[Case]:
    """Yield each forecast."""
    for name, cause, speed, remains in CASES:
        yield Case(name, RUNS[name][1], (cause,), speed, remains)
    for group in GROUPS:
        for faults in group.injected:
            removals = [faults] if len(faults) == 1 else [faults, faults[:1], faults[1:]]
            for removed in removals:
                kept = tuple(name for name in faults if name not in removed)
                yield Case(
                    group.name(faults, group.seed),
                    tuple(GROUP_FAULTS[name] for name in faults),
                    tuple(GROUP_FAULTS[name].split()[0].replace("-", "_") for name in removed),
                    None,
                    group.name(kept, group.other),
                )


def measure_groups(place: Path) -> None:
    """Make the recordings of all groups that are not there yet."""
    for group in GROUPS:
        for faults in [(), *group.injected]:
            injected = tuple(f"{GROUP_FAULTS[name]} seed={group.seed}" for name in faults)
            measure(place / group.name(faults, group.seed), group.seed, injected, group)


def measure(
    directory: Path, seed: int, faults: tuple[str, ...], group: Group | None = None
) -> None:
    """Make a recording that is not there yet."""
    board, interval = ("pc", "250us") if group is None else (group.board, group.interval)
    if directory.exists():
        return
    arguments = [
        "measure", board, "--virtual-time", "--smp", "1", "--for", "4s", "--interval", interval,
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


@dataclass(frozen=True)
class Outcome:
    """A figure without causes: recorded with them, predicted, measured. holds None: no limits."""

    case: Case
    figure: str
    recorded: float
    low: float
    high: float
    measured: float
    holds: bool | None


def outcomes(place: Path) -> Iterator[Outcome]:
    """Yield each figure of each case whose two recordings are there."""
    for case in cases():
        if not all(
            (place / name / "manifest.json").exists() for name in (case.recording, case.remains)
        ):
            continue
        recording = open_recording(place / case.recording)
        try:
            forecast = predict_without(recording, case.causes, case.speed, ABOVE_NS)
        except UnknownCauseError:
            for figure in (*QUANTILES, RATE):
                yield Outcome(case, figure, 0, 0, math.inf, 0, None)
            continue
        measured = measured_ns(place / case.remains)
        for quantile in forecast.quantiles:
            limits = quantile.low_ns, quantile.high_ns
            yield _outcome(
                case, quantile.name, quantile.recorded_ns, limits, measured[quantile.name]
            )
        rate = forecast.rate
        yield _outcome(
            case,
            RATE,
            rate.recorded / rate.seconds,
            (rate.low_per_s, rate.high_per_s),
            measured_rate(place / case.remains),
        )


def _outcome(
    case: Case,
    figure: str,
    recorded: float,
    limits: tuple[float | None, float | None],
    measured: float,
) -> Outcome:
    low = 0.0 if limits[0] is None else limits[0]
    high = math.inf if limits[1] is None else limits[1]
    holds = None if limits == (None, None) else low <= measured <= high
    return Outcome(case, figure, recorded, low, high, measured, holds)


def measured_rate(directory: Path) -> float:
    """Return the episodes above ABOVE_NS per second of a recording."""
    series = open_recording(directory).samples
    episodes = sum(starts.size for starts in episode_starts(series, ABOVE_NS))
    return episodes / observed_s(series)


def main(place: Path) -> None:
    """Measure what lacks, and print a row for each forecast."""
    place.mkdir(parents=True, exist_ok=True)
    for name, (seed, faults) in RUNS.items():
        measure(place / name, seed, faults)
    measure_groups(place)
    held = made = 0
    print("| faults | without | | recorded | predicted | measured |\n|---|---|---|---|---|---|")
    for outcome in outcomes(place):
        if outcome.holds is None:
            continue
        held, made = held + outcome.holds, made + 1
        unit = 1.0 if outcome.figure == RATE else 1e3
        how = ", ".join(outcome.case.causes)
        how += "" if outcome.case.speed is None else f" at speed {outcome.case.speed:g}"
        limits = f"{outcome.low / unit:.2f} … {outcome.high / unit:.2f}"
        missed = "" if outcome.holds else " (outside)"
        print(
            f"| {', '.join(outcome.case.faults)} | {how} | {outcome.figure} | "
            f"{outcome.recorded / unit:.2f} | {limits} | {outcome.measured / unit:.2f}{missed} |"
        )
    print(f"\n{held} of {made} measured figures lie in their intervals")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
