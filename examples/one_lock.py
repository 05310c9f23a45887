"""One lock, sixteen thousand cache lines.

`python examples/one_lock.py [--quick]`

A driver cleans a whole cache under one lock that disables interrupts: whoever is due meanwhile
waits for all of it. Here a program cleans 16,384 dirty lines under a blocked signal (more where
this CPU has done with them in less than a millisecond), in one piece and in chunks, while a timer
sends the signal every 200 us. What a study of the chunks finds: how much latency falls, what the
work costs more, where the knee is, and the law behind it. The second part asks whether published
runs with and without such a change can carry that conclusion. Needs a C compiler.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from story import HERE, Interval, say, telling, whylate

LINES, MOST_LINES = 16384, 1 << 20
#: One piece is to take so long at least, us: more than what any timer is late by itself.
LEAST_US = 1000.0
#: In so many chunks the work is done.
PARTS = (1, 32, 128, 1024, 4096)
#: Of the program's timer.
PERIOD_US = 200.0
PUBLISHED = HERE / "data" / "imx6_latency.csv"
#: A chunk costs too much once the work takes so much longer than in one piece.
COSTS = 1.25


def enough_lines(program: Path) -> int:
    """Return how many lines take long enough to clean in one piece, and are to be cleaned."""
    lines = LINES
    while lines < MOST_LINES:
        done = subprocess.run(
            [program, str(lines), str(lines), "20"], stdout=subprocess.PIPE, text=True, check=True
        )
        match = re.search(r"^bulk ([0-9.]+) us$", done.stdout, re.MULTILINE)
        if match is None or float(match[1]) >= LEAST_US:
            break
        lines *= 2
    return lines


def plan(program: Path, value: str, lines: int, *, quick: bool) -> str:
    """Return a study of all chunks by one number that the program prints, as TOML."""
    runs, rounds = (6, 20) if quick else (10, 100)
    variants = "".join(
        f'[variants.lines-{lines // part}]\n"env:CHUNK" = "{lines // part}"\n' for part in PARTS
    )
    command = f'sh -c "exec {program} {lines} $CHUNK {rounds}"'
    return (
        f"runs = {runs}\nwarm_up = 'none'\n[cmd]\ncommand = '{command}'\n"
        f"value = '{value} ([0-9.]+) us'\nunit = 'us'\nrounds = 1\n{variants}"
    )


def typical(study: dict[str, Any], lines: int) -> tuple[dict[int, float], dict[int, Interval]]:
    """Return the typical value of each chunk, and its ratio to that of one piece."""
    values: dict[int, float] = {}
    changes: dict[int, Interval] = {}
    for item in study["comparisons"]:
        (row,) = item["comparison"]["statistics"]
        chunk = int(item["key"]["variant"].removeprefix("lines-"))
        values[chunk] = row["second"]
        changes[chunk] = Interval(row["ratio"], row["low"], row["high"])
        values[lines] = row["first"]
    return values, changes


def waits_us(chunk_us: float) -> float:
    """Return the median time for which whoever falls due within a chunk waits for its end.

    It falls due anywhere in it, and waits for half of it; but in a chunk longer than the timer's
    period it is due for the first time within the first period.
    """
    return chunk_us / 2 if chunk_us <= PERIOD_US else chunk_us - PERIOD_US / 2


def law(delays: Mapping[int, float], bulk: Mapping[int, float]) -> tuple[float, float]:
    """Return floor and cost of a line, us: a median delay is the floor and what a chunk waits.

    The cost is that of the work in one piece, and the floor the delay of the smallest chunk:
    nothing is fitted, so that the chunks between can show it wrong.
    """
    lines, smallest = max(bulk), min(delays)
    cost = bulk[lines] / lines
    return max(0.0, delays[smallest] - waits_us(smallest * cost)), cost


def knee(bulk: Mapping[int, float]) -> int:
    """Return the smallest chunk with which the work takes hardly longer than in one piece."""
    return min(chunk for chunk, took in bulk.items() if took <= COSTS * bulk[max(bulk)])


def main() -> None:
    """Make both studies, and read the published runs."""
    with telling(__doc__.splitlines()[0]) as (out, quick):
        program = out / "bulk_lock"
        subprocess.run(["cc", "-O2", "-o", program, HERE / "bulk_lock.c"], check=True)
        lines = enough_lines(program)
        results = {}
        for name, value in (("delay", "delay p50"), ("bulk", "bulk")):
            (out / f"{name}.toml").write_text(plan(program, value, lines, quick=quick))
            results[name] = typical(
                whylate("study", "run", out / f"{name}.toml", "-o", out / name), lines
            )
    (delays, falls), (bulk, costs) = results["delay"], results["bulk"]
    floor, cost = law(delays, bulk)
    for chunk in sorted(delays, reverse=True):
        change = "one piece"
        if chunk in falls:
            change = f"delay × {falls[chunk]}, work × {costs[chunk]}"
        print(
            f"  {chunk:7,} lines: median delay {delays[chunk]:7.1f} us (by the law "
            f"{floor + waits_us(chunk * cost):7.1f}), work {bulk[chunk]:7.0f} us; {change}"
        )
    at = knee(bulk)
    say(
        f"The knee is at chunks of {at:,} lines: the median delay falls × {falls[at]}, and the "
        f"work takes × {costs[at]} of the time. Below it the lock itself costs more than the lines."
        if at in falls else "No chunk is cheap enough on this machine."
    )  # fmt: skip
    pairs = "board,l2_cache_rev,load,write_allocate"
    box = whylate(
        "compare", PUBLISHED, "--column", "lat_avg_us", "--by", "l2_lock", "--pair", pairs
    )
    pairs = "; ".join(f"{100 * (b / a - 1):.1f}\u00a0%" for _, a, b in box["pairs"])
    say(
        f"The published runs with and without the lock: averages of single runs in "
        f"{len(box['pairs'])} pairs, {pairs}. {box['verdict']}: {box['why']}. All of one sign, and "
        f"the smallest p that so few could come out with is {box['smallest_p']}; and whether the "
        "changed code ran at all is not shown."
    )


if __name__ == "__main__":
    main()
