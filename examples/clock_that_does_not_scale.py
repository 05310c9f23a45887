"""The clock that does not scale.

`python examples/clock_that_does_not_scale.py [--quick]`

On a virtual PC the kernel's clock source is set to tsc, hpet and acpi_pm, and one to four threads
read the clock as fast as they can. The first is read by the program itself, the others by a system
call and one after the other: what a call takes grows with the number of those who ask. How much of
it is spent in turns is fitted (a closed network of one queue), and what 72 and 240 CPUs would do is
predicted by the same model from published figures of two large machines. The board is software: its
figures say nothing of hardware, and the model is that of any device that serves in turns.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from story import HERE, Interval, interval, points, say, telling, whylate
from whylate.stats.closed_network import shared_throughput, think_from_ratio

SOURCES = ("tsc", "hpet", "acpi_pm")
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
PUBLISHED = HERE / "data" / "hpet_aim7.csv"


# The counters of emulated CPUs are not in step when they start, for which this kernel would refuse
# the tsc: it is told to take them as they are.
def measured(source: str, out: Path, quick: bool) -> dict[str, Any]:
    """Measure the clock with one source."""
    rounds = ["--rounds", "6", "--repetitions", "1"] if quick else ["--rounds", "8"]
    return whylate(
        "bench", "clock", "pc", "--smp", "4", "--kernel-arg", "tsc=reliable",
        "--clocks", "monotonic",
        "--threads", "1,2,3,4", "--predict", "72,240", "--set", f"{SOURCE}={source}",
        "-o", out / source, *rounds,
    )  # fmt: skip


def costs(document: dict[str, Any]) -> dict[int, Interval]:
    """Return what a call takes, by the number of threads."""
    return {
        item["parameters"]["threads"]: interval(item["ns_per_call"])
        for item in points(document).values()
    }


def finding(result: dict[str, dict[int, Interval]]) -> str:
    """Return how many times as long a call takes as by the tsc, alone and with others."""
    tsc = result["tsc"]
    parts = []
    for source in SOURCES[1:]:
        alone, crowded = (result[source][n].value / tsc[n].value for n in (1, max(tsc)))
        parts.append(f"× {alone:.1f} by {source} ({crowded:.1f} with {max(tsc)} threads)")
    return f"A call takes {tsc[1]} ns by the tsc, and that {' and '.join(parts)}."


def published() -> list[str]:
    """Return what the model makes of the published rows, beside what was measured there."""
    rows = list(csv.DictReader(PUBLISHED.read_text().splitlines()))
    lines = []
    for cpus in dict.fromkeys(row["cpus"] for row in rows):
        jobs = {row["clocksource"]: float(row["jobs_per_min"]) for row in rows
                if row["cpus"] == cpus}  # fmt: skip
        n, direct = int(cpus), jobs["hpet direct"] / jobs["tsc"]
        think = think_from_ratio(direct, n)
        shared = shared_throughput(n, think, 1.0) * think / n
        seen = jobs["hpet shared"] / jobs["tsc"]
        # In services: what each reading seems to take beyond the model.
        more = think / seen - think / shared
        lines.append(
            f"{n} CPUs: hpet to tsc {direct:.4f} published, of which Z/S = {think:.1f} follows; "
            f"read once for all who wait {shared:.4f} predicted, {seen:.4f} published, as if each "
            f"reading took {more:.2f} services longer, {more / n:.4f} for each CPU"
        )
    return lines


def main() -> None:
    """Measure by each source, and say what was found."""
    with telling(__doc__.splitlines()[0]) as (out, quick):
        documents = {source: measured(source, out, quick) for source in SOURCES}
    result = {source: costs(item) for source, item in documents.items()}
    for source, by_threads in result.items():
        output = ", ".join(f"{threads}: {cost}" for threads, cost in by_threads.items())
        print(f"  {source:8} ns a call by threads  {output}")
        for network in documents[source]["networks"]:
            predicted = ", ".join(f"{item['threads']} threads {interval(item['calls_per_us'])}"
                                  for item in network["predicted"])  # fmt: skip
            print(f"  {'':8} as if shared for {interval(network['service_ns'])} ns of each; "
                  f"predicted, not measured, in calls a µs: {predicted}")  # fmt: skip
    say(finding(result))
    for line in published():
        say(line)


if __name__ == "__main__":
    main()
