"""One lock, sixteen thousand cache lines.

`python examples/one_lock.py [--out DIR] [--quick] [--json]`

A driver cleans a whole second-level cache under one lock that disables interrupts: whoever is due
meanwhile waits for all of it. Here a program cleans 16,384 dirty lines under a blocked signal, in
one piece and in chunks, while a timer sends the signal every 200 us. The lines are few sets, made
dirty one after the other just before they are cleaned: each is half of the second-level cache at
most, and small, so that nobody evicts it meanwhile. Where that takes less than a millisecond, the
lock is held over more sets. Each run also cleans the same lines when they are in the cache and
unmodified: unless dirty ones take 1.5 times as long, nothing dirty was cleaned, and the story gives
no figure. What a study of the chunks finds: how much the delay falls, what the work costs more, and
where the knee is. The last part asks whether published runs with and without such a change can
carry that conclusion. Needs a C compiler, and root for a real-time priority.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from story import HERE, Claim, Interval, Story, judge, median, number, refused, telling, whylate

LINES = 16384
#: So many of them are dirty at a time, and no more than half of the second-level cache.
SET = 2048
#: What bulk_lock.c takes a line to be, in bytes.
LINE_BYTES = 64
#: The lock is to be held so long at least for one piece, us: longer than timers are late anyhow.
LEAST_HOLD_US = 1000.0
MOST_SETS = 64
#: Cleaning a dirty line takes so many times a clean one at least, or the lines were not dirty.
LEAST_RATIO = 1.5
#: So often the program runs before the studies, to refuse early what was not dirty.
TRIALS = 10
#: Sizes of chunks, beside one piece.
CHUNKS = (512, 128, 16, 4)
#: Of the program's timer.
PERIOD_US = 200.0
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
PUBLISHED = HERE / "data" / "imx6_latency.csv"
#: The average latency without the hard lock to that with it, of the published pair under 4 x dd.
PUBLISHED_RATIO = 28.399 / 43.343
#: A chunk costs too much once the work takes so much longer than in one piece.
COSTS = 1.25
CLAIM = (
    "Bulk work on a cache under one lock with interrupts disabled delays whoever is due: with a "
    "lock that lets the real-time task preempt it, the average latency under four dd fell from "
    f"43.343 to 28.399 us (× {PUBLISHED_RATIO:.3g})."
)
#: A line of what the program checks of itself, as bulk_lock.c writes it.
Checks = Mapping[str, float]


def set_lines(directory: Path = CACHES) -> int | str:
    """Return how many lines a set has: half of the second-level cache at most; or why none."""
    for cache in sorted(directory.glob("index*")):
        try:
            level, kind = ((cache / name).read_text().strip() for name in ("level", "type"))
            if level != "2" or kind not in ("Unified", "Data"):
                continue
            size = (cache / "size").read_text().strip()
            line = int((cache / "coherency_line_size").read_text())
            kib = int(size.removesuffix("K"))
        except (OSError, ValueError):
            continue
        if line != LINE_BYTES:
            return f"lines of this cache have {line} bytes, and the program's {LINE_BYTES}"
        return min(SET, kib * 1024 // 2 // line)
    return f"the kernel does not show the size of the second-level cache in {directory}"


def sets_for(lines: int, hold_us: float) -> int:
    """Return over how many sets the lock is held, one of which takes so long."""
    return min(MOST_SETS, max(-(-LINES // lines), -int(-LEAST_HOLD_US // hold_us)))


def checks_of(path: Path) -> list[Checks]:
    """Return what all runs of the program checked."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def dirty_to_clean(checks: Sequence[Checks]) -> Interval:
    """Return how many times as long a dirty line takes as a clean one, each in the same run."""
    return median([each["dirty_ns"] / each["clean_ns"] for each in checks])


def not_dirty(checks: Sequence[Checks]) -> str:
    """Return why what was cleaned does not count as dirty; "" where it does."""
    ratio = dirty_to_clean(checks)
    if ratio.low is not None and ratio.low >= LEAST_RATIO:
        return ""
    return (
        f"a dirty line takes × {ratio} of a clean one, and × {LEAST_RATIO} is the least that shows "
        "that lines were dirty"
    )


def not_held(holds: Mapping[int, Interval], piece: int) -> str:
    """Return why one piece did not hold the lock long enough; "" where it did."""
    if holds[piece].value >= LEAST_HOLD_US:
        return ""
    return (
        f"one piece held the lock for {holds[piece]} us, and {number(LEAST_HOLD_US)} us are wanted"
    )


def run_once(program: Path, checks: Path, *words: int) -> None:
    """Run the program by itself."""
    subprocess.run(
        [program, *map(str, words)],
        env={**os.environ, "CHECKS": str(checks)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def plan(program: Path, value: str, lines: int, sets: int, *, quick: bool) -> str:
    """Return a study of all chunks by one number that the program prints, as TOML."""
    runs, rounds = (6, 10) if quick else (10, 30)
    variants = "".join(
        f'[variants.lines-{chunk}]\n"env:CHUNK" = "{chunk}"\n'
        for chunk in (lines * sets, *(chunk for chunk in CHUNKS if chunk < lines))
    )
    command = (
        f'sh -c "CHECKS={program.parent}/checks exec {program} {lines} $CHUNK {rounds} {sets}"'
    )
    return (
        f"runs = {runs}\nwarm_up = 'none'\n[cmd]\ncommand = '{command}'\n"
        f"value = '{value} ([0-9.]+) us'\nunit = 'us'\nrounds = 1\n{variants}"
    )


def typical(study: dict[str, Any], piece: int) -> tuple[dict[int, float], dict[int, Interval]]:
    """Return the typical value of each chunk, and its ratio to that of one piece."""
    values: dict[int, float] = {}
    changes: dict[int, Interval] = {}
    for item in study["comparisons"]:
        (row,) = item["comparison"]["statistics"]
        chunk = int(item["key"]["variant"].removeprefix("lines-"))
        values[chunk] = row["second"]
        changes[chunk] = Interval(row["ratio"], row["low"], row["high"])
        values[piece] = row["first"]
    return values, changes


def waits_us(hold_us: float) -> float:
    """Return the median time for which whoever falls due while the lock is held waits for it.

    It falls due anywhere in it, and waits for half of it; but in a lock held longer than the
    timer's period it is due for the first time within the first period.
    """
    return hold_us / 2 if hold_us <= PERIOD_US else hold_us - PERIOD_US / 2


def law(delays: Mapping[int, float], holds: Mapping[int, float]) -> dict[int, float]:
    """Return the median delay of each chunk, us: a floor, and what its lock makes a signal wait.

    holds: how long the lock was held, as the program measured it, us. The floor is the delay of
    the smallest chunk beyond its lock: nothing is fitted, and the other chunks can show it wrong.
    """
    smallest = min(delays)
    floor = max(0.0, delays[smallest] - waits_us(holds[smallest]))
    return {chunk: floor + waits_us(hold) for chunk, hold in holds.items()}


def knee(costs: Mapping[int, Interval]) -> int | None:
    """Return the smallest chunk with which the work takes hardly longer than in one piece."""
    cheap = [chunk for chunk, ratio in costs.items() if ratio.value <= COSTS]
    return min(cheap) if cheap else None


def chunks(
    piece: int, checks: Sequence[Checks], falls: Mapping[int, Interval],
    costs: Mapping[int, Interval],
) -> Claim:  # fmt: skip
    """Return whether the delay falls when the lock is given up between chunks."""
    dirty, clean, hold = (
        median([each[name] for each in checks if each["chunk"] == piece])
        for name in ("dirty_ns", "clean_ns", "hold_us")
    )
    at = knee(costs)
    chunk = max(falls) if at is None else at
    reproduced, why = judge(falls[chunk], PUBLISHED_RATIO, size=False)
    if at is None:
        why += f"; but no chunk keeps the work below × {COSTS}"
    return Claim(
        CLAIM,
        f"one piece of {piece:,} lines holds the lock for {hold} us, at {dirty} ns for a dirty "
        f"line and {clean} ns for a clean one (× {dirty_to_clean(checks)} in the same run); in "
        f"chunks of {chunk:,} lines the median delay is × {falls[chunk]}, and the work takes × "
        f"{costs[chunk]}",
        reproduced,
        f"{why}. That is the mechanism, in a program and on another cache; the published size is "
        "of a kernel under another load",
    )


def published(by: str, fixed: str, claim: str) -> Claim:
    """Return what the published runs can show of one of their settings."""
    box = whylate(
        "compare", PUBLISHED, "--column", "lat_avg_us", "--by", by, "--pair",
        f"board,l2_cache_rev,load,{fixed}",
    )  # fmt: skip
    pairs = "; ".join(f"{100 * (b / a - 1):+.1f}\u00a0%" for _, a, b in box["pairs"])
    return Claim(
        claim,
        f"averages of single published runs, in {len(box['pairs'])} pairs: {pairs}; whylate "
        f"compare: {box['verdict']}",
        "cannot be told here",
        f"no i.MX6 with this cache is at hand, and of the published runs: {box['why']}",
    )


def driver() -> list[Claim]:
    """Return both claims about the driver's own runs."""
    return [
        published(
            "l2_lock", "write_allocate",
            "Without the hard lock and the limit, the average latency of an i.MX6Q falls from "
            "43.343 to 28.399 us under four dd, and from 13.025 to 9.265 us under a mixed load. "
            "Operations on ranges run without the lock on caches of that revision, as the same "
            "thread says, and whether the changed code ran is not shown.",
        ),
        published(
            "write_allocate", "l2_lock",
            "On the older i.MX6Q write-allocate costs latency (9.852 to 16.472 us on average, "
            "57.243 to 93.579 us at most); on the sabresd there is little correlation.",
        ),
    ]  # fmt: skip


def measured(story: Story, program: Path, lines: int, sets: int) -> Claim:
    """Make both studies and return what they show."""
    out, piece = story.out, lines * sets
    (out / "checks").unlink(missing_ok=True)
    results = {}
    for name, value in (("delay", "delay p50"), ("bulk", "bulk")):
        (out / f"{name}.toml").write_text(plan(program, value, lines, sets, quick=story.quick))
        results[name] = typical(
            whylate("study", "run", out / f"{name}.toml", "-o", out / name), piece
        )
    checks = checks_of(out / "checks")
    (delays, falls), (bulk, costs) = results["delay"], results["bulk"]
    holds = {
        chunk: median([each["hold_us"] for each in checks if each["chunk"] == chunk])
        for chunk in delays
    }
    why = not_dirty(checks) or not_held(holds, piece)
    if why:
        return refused(CLAIM, why)
    by_law = law(delays, {chunk: hold.value for chunk, hold in holds.items()})
    for chunk in sorted(delays, reverse=True):
        change = "one piece"
        if chunk in falls:
            change = f"delay × {falls[chunk]}, work × {costs[chunk]}"
        print(
            f"  {chunk:6,} lines: lock {number(holds[chunk].value):>6} us, median delay "
            f"{number(delays[chunk]):>6} us (by the law {number(by_law[chunk]):>6}), work "
            f"{number(bulk[chunk]):>6} us; {change}"
        )
    return chunks(piece, checks, falls, costs)


def main() -> None:
    """Try the lines, make both studies, and read the published runs."""
    with telling(__doc__) as story:
        program, first_checks = story.out / "bulk_lock", story.out / "first_checks"
        subprocess.run(["cc", "-O2", "-o", program, HERE / "bulk_lock.c"], check=True)
        lines = set_lines()
        why = lines if isinstance(lines, str) else ""
        sets = 1
        if isinstance(lines, int):
            first_checks.unlink(missing_ok=True)
            for _ in range(TRIALS):
                run_once(program, first_checks, lines, lines, 10)
            # Only what cannot become dirty by more runs is refused before the studies.
            ratio = dirty_to_clean(checks_of(first_checks))
            if ratio.high is not None and ratio.high < LEAST_RATIO:
                why = not_dirty(checks_of(first_checks))
            sets = sets_for(
                lines, median([each["hold_us"] for each in checks_of(first_checks)]).value
            )
        if why or isinstance(lines, str):
            story.end(refused(CLAIM, why), *driver())
            return
        story.end(measured(story, program, lines, sets), *driver())


if __name__ == "__main__":
    main()
