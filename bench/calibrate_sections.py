"""How often is the class of a longer execution right, and how often is one given without a reason?

`make bench-calibrate_sections ARGS='--runs 200'`

Simulated executions whose parts are known, as the probe would send them: an event's hooks run after
it began and take time themselves, all of which is in the rest; of some events no hook ran at all.
Counters have what the hooks count, and noise. Longer is what took more than twice the median. True
is the part that has half of the true excess.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rates import rate
from whylate.stats.executions.classes import (
    CLASSES,
    SAMPLED_CLASSES,
    classify_executions,
    classify_sampled_executions,
    estimate_typical,
)
from whylate.stats.executions.parts import REST, TIMES, Times, find_classes

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

ROWS = 20_000
NAMES = ("interrupted", "preempted", "asleep", "waiting for a lock")
#: What the code takes itself, µs; the hooks of the section are in it.
OWN_US = (0.5, 10.0, 1_000.0)
#: What an execution with a reason takes more, in multiples of its own time, from and to.
EXCESS = (1.5, 100.0)
#: An event's hooks run so long after it begins, and take so long, µs.
LAG_US, HOOK_US = (0.2, 0.6), (0.1, 0.3)
#: Part of events of which no hook ran.
MISSED = 0.002
#: Part of executions that a timer interrupts, and for how long, µs.
TICKS, TICK_US = 0.01, 2.0
#: Counters of a typical execution, by the published ones of do_local_timer().
INSTRUCTIONS, STALLS, CYCLES = 2_850.0, 20_000.0, 28_500.0


@dataclass(frozen=True)
class Made:
    """Executions: what is measured, and what is true; parts: shape (n, len(NAMES) + 1), µs."""

    measured: Times
    true_us: Floats


def make(rng: np.random.Generator, own_us: float, reasons: float) -> Made:
    """Simulate a run; reasons: the part of executions that has each reason to take longer."""
    own = own_us * np.exp(0.05 * rng.standard_normal(ROWS))
    rest = len(NAMES)
    true = np.zeros((ROWS, rest + 1))
    true[:, rest] = own
    events = np.zeros((ROWS, rest), bool)
    ticked = rng.random(ROWS) < TICKS
    true[ticked, 0] += TICK_US * np.exp(0.2 * rng.standard_normal(int(ticked.sum())))
    events[ticked, 0] = True
    for part in range(rest + 1):
        # The code's own reasons are there in clean runs as well.
        has = rng.random(ROWS) < (0.01 if part == rest else reasons)
        low, high = np.log(EXCESS)
        excess = own_us * np.exp(rng.uniform(low, high, int(has.sum())))
        true[has, part] += excess
        if part < rest:
            events[has, part] = True
            # Some have a lesser reason beside it.
            beside = rng.integers(0, rest + 1, int(has.sum()))
            true[np.flatnonzero(has), beside] += (
                excess * rng.uniform(0, 0.6, int(has.sum())) * (rng.random(int(has.sum())) < 0.2)
            )
            events[np.flatnonzero(has)[beside < rest], beside[beside < rest]] = True
    hooks = np.where(events, rng.uniform(*HOOK_US, events.shape), 0)
    lag = np.where(events, rng.uniform(*LAG_US, events.shape), 0)
    seen = np.clip(true[:, :rest] - lag, 0, None) * (rng.random(events.shape) >= MISSED)
    duration = true.sum(axis=1) + hooks.sum(axis=1)
    began = np.arange(ROWS, dtype=np.int64) * 1_000_000
    return Made(
        Times(began, np.round(1000 * duration).astype(np.int64),
              np.round(1000 * seen).astype(np.int64)),
        true,
    )  # fmt: skip


def split(made: Made) -> tuple[Times, Times, NDArray[np.bool_]]:
    """Return the longer executions, the others, and which are longer."""
    times = made.measured
    longer = times.duration_ns > TIMES * np.median(times.duration_ns)

    def only(which: NDArray[np.bool_]) -> Times:
        return Times(times.began_ns[which], times.duration_ns[which], times.parts[which])

    return only(longer), only(~longer), longer


def true_classes(made: Made, longer: NDArray[np.bool_]) -> Int64s:
    """Return the part of each longer execution that has half of its true excess, else the rest."""
    excess = made.true_us[longer] - made.true_us[~longer].mean(axis=0)
    has_half = 2 * excess.max(axis=1) >= excess.sum(axis=1)
    classes: Int64s = np.where(has_half, excess.argmax(axis=1), len(NAMES))
    return classes


def by_time(runs: int) -> list[str]:
    """Return the rates of classes by time, as lines of Markdown."""
    lines = [
        "| own time | truth | longer executions | class right | another class |",
        "|---|---|---|---|---|",
    ]
    clean_lines = []
    for own_us in OWN_US:
        right: dict[int, list[bool]] = {part: [] for part in range(len(NAMES) + 1)}
        other: dict[int, list[bool]] = {part: [] for part in range(len(NAMES) + 1)}
        false: list[bool] = []
        for number in range(runs):
            rng = np.random.default_rng([51, int(10 * own_us), number])
            made = make(rng, own_us, 0.005)
            longer, others, which = split(made)
            pairs = zip(true_classes(made, which).tolist(),
                        find_classes(longer, others).tolist(), strict=True)  # fmt: skip
            for truth, found in pairs:
                right[truth].append(truth == found)
                other[truth].append(found not in (truth, len(NAMES)))
            clean = make(rng, own_us, 0.0)
            longer, others, which = split(clean)
            of_code = true_classes(clean, which) == len(NAMES)
            false += (find_classes(longer, others)[of_code] < len(NAMES)).tolist()
        for part, name in enumerate((*NAMES, REST)):
            lines.append(
                f"| {own_us:g} µs | {name} | {len(right[part]):,} | {rate(right[part])} | "
                f"{rate(other[part])} |"
            )
        every = [each for part in right.values() for each in part]
        lines.append(f"| {own_us:g} µs | all | {len(every):,} | {rate(every)} | |")
        clean_lines.append(
            f"| {own_us:g} µs | {len(false):,} | {rate(false)} |"
        )  # fmt: skip
    return [*lines, "", "| own time | longer by the code itself | false class |", "|---|---|---|",
            *clean_lines]  # fmt: skip


def by_counters(runs: int) -> list[str]:
    """Return the rates of classes by counters, as lines of Markdown."""
    truths = ("instruction side", "spinning", "data side", "time taken by a host")
    right: dict[str, list[bool]] = {truth: [] for truth in truths}
    for number in range(runs):
        rng = np.random.default_rng([52, number])
        instructions = INSTRUCTIONS * (1 + 0.01 * rng.standard_normal(ROWS))
        stalls = STALLS * (1 + 0.05 * rng.standard_normal(ROWS))
        cycles = CYCLES - STALLS + stalls + 2.2 * (instructions - INSTRUCTIONS)
        times = np.ones(ROWS)
        kind = rng.integers(0, len(truths), ROWS)
        long = rng.random(ROWS) < 0.01
        more = CYCLES * np.exp(rng.uniform(np.log(1.1), np.log(20), ROWS))
        for code in range(3):
            own = long & (kind == code)
            cycles[own] += more[own]
            stalls[own] += more[own] * (0.9, 0.02, 0.05)[code]
            instructions[own] += more[own] * (0.0, 0.7, 0.0)[code]
        times = cycles / CYCLES
        stolen = long & (kind == 3)
        times[stolen] += more[stolen] / CYCLES
        # What the hooks count, and where the counters are read.
        read = [values + 900 * (1 + 0.05 * rng.standard_normal(ROWS))
                for values in (cycles, instructions, stalls)]  # fmt: skip
        longer = times > TIMES
        typical = estimate_typical(*(read[place][~longer] for place in (1, 2, 0)))
        cycles_read, instructions_read, stalls_read = (values[longer] for values in read)
        found = classify_executions(
            cycles_read, instructions_read, stalls_read, typical, times[longer]
        )
        for truth, place in zip(kind[longer].tolist(), found.tolist(), strict=True):
            expected = truths[truth] if truth < 2 else "unexplained"
            right[truths[truth]].append(str(CLASSES[place]) == expected)
    return [
        "| truth | longer executions | class right |",
        "|---|---|---|",
        *(f"| {truth} | {len(found):,} | {rate(found)} |" for truth, found in right.items()),
    ]


def by_samples(runs: int) -> list[str]:
    """Return the rates of classes by cycles, instructions and samples, as lines of Markdown."""
    truths = ("spinning", "more work", "data side", "time taken by a host")
    right: dict[str, list[bool]] = {truth: [] for truth in truths}
    other: dict[str, list[bool]] = {truth: [] for truth in truths}
    for number in range(runs):
        rng = np.random.default_rng([53, number])
        kind = rng.integers(0, len(truths), ROWS)
        long = rng.random(ROWS) < 0.01
        more = np.where(long, np.exp(rng.uniform(np.log(1.1), np.log(20), ROWS)), 0)
        # One that spins has any rate, one that works about the usual one.
        spins_at, works_at = rng.uniform(0.05, 4, ROWS), rng.uniform(0.7, 1.5, ROWS)
        rate_of = np.select([kind == 0, kind == 1], [spins_at, works_at], 0)
        noise = 1 + 0.01 * rng.standard_normal(ROWS)
        cycles = CYCLES * (noise + more * (kind != 3))
        instructions = INSTRUCTIONS * (noise + more * rate_of)
        times = noise + more
        # Four times in an execution of twice the median: at random in what it does.
        samples = rng.poisson(2 * times)
        spins = rng.binomial(samples, np.where(kind == 0, more / (1 + more), 0))
        longer = times > TIMES
        usual = ~longer
        typical = estimate_typical(instructions[usual], np.zeros(ROWS), cycles[usual])
        found = classify_sampled_executions(
            cycles[longer], instructions[longer], None, typical, times[longer],
            samples[longer].astype(np.int64), spins[longer].astype(np.int64),
        )  # fmt: skip
        for truth, place in zip(kind[longer].tolist(), found.tolist(), strict=True):
            expected = truths[truth] if truth < 2 else "unexplained"
            name = str(SAMPLED_CLASSES[place])
            right[truths[truth]].append(name == expected)
            other[truths[truth]].append(name not in (expected, "unexplained"))
    return [
        "| truth, with samples | longer executions | class right | another class |",
        "|---|---|---|---|",
        *(
            f"| {truth} | {len(found):,} | {rate(found)} | {rate(other[truth])} |"
            for truth, found in right.items()
        ),
    ]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    print("\n".join([*by_time(options.runs), "", *by_counters(options.runs), "",
                     *by_samples(options.runs)]))  # fmt: skip


if __name__ == "__main__":
    main()
