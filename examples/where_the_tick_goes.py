"""Where the tick goes.

`python examples/where_the_tick_goes.py [--out DIR] [--quick] [--json]`

The interrupt of the local timer runs the same code again and again, with interrupts off. Of ten
thousand executions nearly all take the same time, and a few take several times as long. A talk on
the last tenth of latency found two reasons for such outliers: misses of the instruction cache, and
a lock. Here the virtual board `pc` runs its timer interrupt in virtual time, where there is no
cache, and the lab puts a third reason there: a timer of a module whose function takes 60 µs in that
interrupt. Each long tick is held against the log that this function keeps itself. The published
counters of five outliers are classed by the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from story import HERE, Claim, Interval, number, refused, run_whylate, say, telling, whylate

MARKS = HERE / "data" / "lite_tracer_marks.csv"
TICK = "irq_vectors:local_timer_entry..irq_vectors:local_timer_exit"
#: What is put into some of the ticks, at 20 Hz.
SLOW = "slow-hrtimer size_us=60 period_us=50000"
#: Published: so many lie between 2700 and 3000 cycles, 5 % to either side of the middle.
PUBLISHED_SHARE, WITHIN = 0.997, 0.05


def alike(durations_ns: NDArray[np.int64]) -> float:
    """Return the largest share of durations that lie within 5 % of one of them."""
    ordered = np.sort(durations_ns)
    ends = np.searchsorted(ordered, ordered * (1 + WITHIN) / (1 - WITHIN), "right")
    return float((ends - np.arange(ordered.size)).max() / ordered.size)


def same_code(durations_ns: NDArray[np.int64]) -> Claim:
    """Return whether the tick mostly takes the same time."""
    claim = "99.7 % of the executions of one path of the timer's code take 2700 to 3000 cycles."
    if durations_ns.size < 100:
        return refused(claim, f"only {durations_ns.size} ticks were seen")
    share = alike(durations_ns)
    return Claim(
        claim,
        f"{share:.1%} of {durations_ns.size:,} ticks lie within 5 % of one duration, the longest "
        f"takes × {number(durations_ns.max() / np.median(durations_ns))} of the median",
        "yes" if share >= PUBLISHED_SHARE else "cannot be told here",
        "one path was published, and a whole interrupt is timed here: it has several",
    )


@dataclass(frozen=True)
class Ticks:
    """Executions of the timer's interrupt, and calls of the function that was put there.

    began_ns, took_ns, cpu: int64, shape (n,). calls: int64, shape (k, 3): when each call began, how
    long it took, and on which CPU, on the same clock.
    """

    began_ns: NDArray[np.int64]
    took_ns: NDArray[np.int64]
    cpu: NDArray[np.int64]
    calls: NDArray[np.int64]

    def calls_in(self, above_ns: int) -> NDArray[np.int64]:
        """Return the time of calls within each tick that took longer, int64 ns, shape (m,)."""
        longer = self.took_ns > above_ns
        spans = zip(self.began_ns[longer], self.took_ns[longer], self.cpu[longer], strict=True)
        starts, took, on = self.calls.T
        return np.array(
            [
                int(took[(on == cpu) & (starts >= began) & (starts < began + span)].sum())
                for began, span, cpu in spans
            ],
            np.int64,
        )


def classes_of(section: Mapping[str, Any], ticks: Ticks) -> Claim:
    """Return what made ticks longer where there is no cache."""
    claim = "The outliers of code that does the same each time are misses of the instruction cache."
    longer = section["longer"]
    if not longer or not longer["classes"]:
        return refused(claim, "no tick took longer than twice the median")
    shares = ", ".join(
        f"{each['name']} {Interval(each['share'], each['low'], each['high'])}"
        for each in longer["classes"]
    )
    within = ticks.calls_in(longer["above_ns"])
    calls, spent = int(np.count_nonzero(within)), float(within.sum()) / longer["excess_ns"]
    return Claim(
        claim,
        f"{longer['count']:,} of {longer['of']:,} ticks took longer than twice the median; of what "
        f"they took beyond the others: {shares}. In {calls:,} of these {within.size:,} ticks the "
        f"function that was put there was called, by its own log for × {number(spent)} of that",
        "cannot be told here",
        "virtual time has no cache, and still there are outliers of the tick's own code: a longer "
        "path makes them as well. Time does not distinguish both: with a PMU --counters "
        "cycles,instructions,l1i-stall does",
    )


def published(report: Mapping[str, Any]) -> Claim:
    """Return the classes of the five outliers whose counters were published."""
    claim = "In five outliers of do_local_timer most of the cycles are stalls for instructions."
    classes: Mapping[str, int] = report["classes"]
    counts = ", ".join(f"{count} {name}" for name, count in classes.items() if count)
    all_stalls = {name for name, count in classes.items() if count} == {"instruction side"}
    return Claim(
        claim,
        f"by the published counters: {counts}",
        "yes" if all_stalls else "no",
        "stalls are most of the cycles of each, and instructions are those of the others",
    )


def read_ticks(recording: Path) -> Ticks:
    """Return the executions of a recording, and the log of the fault that was injected."""
    import pyarrow.parquet as pq

    table = pq.read_table(recording / "samples.parquet", columns=["due_ns", "latency_ns", "cpu"])
    began_ns, took_ns, cpu = (column.to_numpy().astype(np.int64) for column in table.columns)
    logs = json.loads((recording / "faults.json").read_text())
    calls = [call for log in logs for call in log["events"]]
    return Ticks(began_ns, took_ns, cpu, np.array(calls, np.int64).reshape(-1, 3))


def main() -> None:
    """Tell the story."""
    with telling(__doc__ or "") as story:
        tick, marks = story.out / "tick", story.out / "marks"
        time = "1s" if story.quick else "5s"
        say("The interrupt of the local timer, on the virtual board pc:")
        section = whylate("section", TICK, "pc", "--virtual-time", "--fault", SLOW, "--for",
                          time, "-o", tick)  # fmt: skip
        say("The counters that were published of five outliers:")
        run_whylate("import", MARKS, "-o", marks)
        report = whylate("report", marks)
        ticks = read_ticks(tick)
        story.end(
            same_code(ticks.took_ns), classes_of(section["section"], ticks), published(report)
        )


if __name__ == "__main__":
    main()
