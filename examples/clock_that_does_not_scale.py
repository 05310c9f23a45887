"""The clock that does not scale.

`python examples/clock_that_does_not_scale.py [--out DIR] [--quick] [--json]`

On a virtual PC the kernel's clock source is set to tsc, hpet and acpi_pm, run by run in turns, and
one to four threads read the clock as fast as they can. The first is read by the program itself, the
others by a system call, from one device that serves everybody. What 72 and 240 CPUs lose by that
was published of two large machines; a model of a queue (a closed network) says what follows from it
for one reading that serves all who wait. The board is software on few CPUs: its figures say nothing
of hardware. Its kernel shares readings of the hpet already, so that the hpet as it was cannot be
measured on it; the acpi_pm is read by everybody.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from story import (
    HERE,
    Claim,
    Interval,
    judge,
    median,
    points,
    ratios_of,
    refused,
    run_whylate,
    study_runs,
    telling,
    whylate,
)
from whylate.stats.closed_network import think_from_ratio
from whylate.stats.shared_readings import relaxed_throughput

BOARD = "pc"
SOURCES = ("tsc", "hpet", "acpi_pm")
#: As many as there are CPUs of the board.
THREADS = (1, 2, 3, 4)
PUBLISHED = HERE / "data" / "hpet_aim7.csv"
#: A prediction this near to what was published is right.
NEAR = 0.01
SLOW = "Reading the HPET is very slow, a few us at least, where the TSC is of each CPU's own."
#: Costs of a call, ns, by source, then by round, then by the number of threads.
Costs = Mapping[str, Mapping[int, Mapping[int, float]]]


# The counters of emulated CPUs are not in step when they start, for which this kernel would refuse
# the tsc: it is told to take them as they are. The board boots once for all runs.
BOOT = ("--smp", str(max(THREADS)), "--kernel-arg", "tsc=reliable")


def plan(quick: bool) -> str:
    """Return the study as TOML. A knob is read back before a run and after it."""
    variants = "".join(f'[variants.{source}]\nclocksource = "{source}"\n' for source in SOURCES)
    runs, rounds = (6, 2) if quick else (10, 4)
    return (
        f'boards = ["{BOARD}"]\nruns = {runs}\nwarm_up = "none"\n[clock]\n'
        f'clocks = ["monotonic"]\nthreads = {list(THREADS)}\nrounds = {rounds}\n'
        f"repetitions = 1\n{variants}"
    )


def not_applied(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return where a clock was not read as its source wants it; "" if nowhere.

    The tsc is read without a system call, the others by one.
    """
    for run in runs:
        source, report = run["variant"], run["report"]
        if report["clock_source"] != source:
            return f"a run by {source} had {report['clock_source']}"
        for name, point in points(report).items():
            if point["system_call"] is not (source != "tsc"):
                how = "a" if point["system_call"] else "no"
                return f"{name} by {source} made {how} system call"
    return ""


def costs_of(runs: Sequence[Mapping[str, Any]]) -> Costs:
    """Return what a call took in each run."""
    return {
        source: {
            run["round"]: {
                point["parameters"]["threads"]: point["ns_per_call"]["value"]
                for point in points(run["report"]).values()
            }
            for run in runs
            if run["variant"] == source
        }
        for source in SOURCES
    }


def growth(costs: Costs, source: str, threads: int) -> Interval:
    """Return how many times as long a call takes with so many threads as alone, over runs."""
    return median([each[threads] / each[1] for each in costs[source].values()])


def slow(by_source: Mapping[str, Interval], costs: Costs) -> Claim:
    """Return whether a device is read more slowly than the CPU's counter.

    by_source: a call of one thread to that by the tsc, as the study has it.
    """
    hpet = by_source["hpet"]
    way, why = judge(hpet, 10.0, size=False)
    alone = {source: median([each[1] for each in costs[source].values()]) for source in SOURCES}
    return Claim(
        SLOW,
        f"a call by one thread takes {alone['tsc']} ns by the tsc, × {hpet} of that by the hpet "
        f"({alone['hpet']} ns) and × {by_source['acpi_pm']} by the acpi_pm",
        "no" if way == "no" else "cannot be told here",
        f"{why}; but these devices are emulated, each reading ends in the emulator, and how slow "
        "hardware is does not show",
    )


def lost_by_waiting(direct: Mapping[str, float]) -> str:
    """Return the published claim of many who read one device."""
    lost = " and ".join(f"× {ratio:.4f} with {cpus} CPUs" for cpus, ratio in direct.items())
    return f"All CPUs wait for one HPET: a workload runs at {lost} of its speed by the TSC."


def crowded(costs: Costs, claim: str) -> Claim:
    """Return what can be said here of many who read one device."""
    grown = "; ".join(
        f"{source} × {growth(costs, source, 2)} and × {growth(costs, source, max(THREADS))}"
        for source in SOURCES
    )
    return Claim(
        claim,
        f"a call with 2 and with {max(THREADS)} threads takes, to one with a single thread: "
        f"{grown}",
        "cannot be told here",
        "the board has 4 emulated CPUs on those of its host, so that all threads slow each other "
        "down, and its kernel shares readings of the hpet already",
    )


def published_rows() -> dict[str, dict[str, float]]:
    """Return the published throughput by clock source, to that by the tsc, by CPUs."""
    rows = list(csv.DictReader(PUBLISHED.read_text().splitlines()))
    jobs: dict[str, dict[str, float]] = {}
    for row in rows:
        jobs.setdefault(row["cpus"], {})[row["clocksource"]] = float(row["jobs_per_min"])
    return {
        cpus: {source: each / by_source["tsc"] for source, each in by_source.items()}
        for cpus, by_source in jobs.items()
    }


def shared(cpus: str, ratios: Mapping[str, float]) -> Claim:
    """Return what the model makes of a published machine, beside what was measured there."""
    n = int(cpus)
    think = think_from_ratio(ratios["hpet direct"], n)
    predicted = relaxed_throughput(n, think, 1.0) * think / n
    seen = ratios["hpet shared"]
    # In services: what each reading seems to take beyond the model.
    more = think / seen - think / predicted
    right = abs(predicted / seen - 1) <= NEAR
    return Claim(
        f"With one reading for all who wait, {n} CPUs run at × {seen:.4f} of the speed by the "
        f"TSC instead of × {ratios['hpet direct']:.4f}.",
        f"predicted, not measured: × {predicted:.4f}, from Z/S = {think:.1f}, which the row "
        "without sharing gives; a model of single values, without an interval",
        "cannot be told here",
        f"no machine with {n} CPUs is at hand; the prediction is "
        f"{'within' if right else 'not within'} {100 * NEAR:.0f} % of what was published, as if "
        f"each reading took {more:.2f} services longer, {more / n:.4f} for each CPU",
    )


def main() -> None:
    """Measure by each source, and say what was found."""
    rows = published_rows()
    waiting = lost_by_waiting({cpus: ratios["hpet direct"] for cpus, ratios in rows.items()})
    with telling(__doc__) as story:
        (story.out / "plan.toml").write_text(plan(story.quick))
        study = story.out / "study"
        run_whylate("board", "on", BOARD, *BOOT)
        try:
            document = whylate("study", "run", story.out / "plan.toml", "-o", study)
        finally:
            run_whylate("board", "off", BOARD)
        runs = study_runs(study)
        costs = costs_of(runs)
        why = not_applied(runs)
        if why:
            here = [refused(SLOW, why), refused(waiting, why)]
        else:
            for source, by_round in costs.items():
                output = ", ".join(
                    f"{threads}: {median([each[threads] for each in by_round.values()])}"
                    for threads in THREADS
                )
                print(f"  {source:8} ns a call by threads  {output}")
            here = [slow(alone(document), costs), crowded(costs, waiting)]
        story.end(*here, *(shared(cpus, ratios) for cpus, ratios in rows.items()))


def alone(document: Mapping[str, Any]) -> dict[str, Interval]:
    """Return the ratio of a call by one thread to that by the tsc, by source."""
    return {source: next(iter(by_name.values())) for source, by_name in ratios_of(document).items()}


if __name__ == "__main__":
    main()
