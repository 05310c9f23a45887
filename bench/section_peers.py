"""What does timing a section cost beside its peers, and does each say how long executions took?

`python bench/section_peers.py [--turns 6] [--parts cost,lengths,nested] [--counters page-faults]`

One boot of the virtual board pc (Debian 6.1) in virtual time: there everything is counted in
instructions, of 2 ns each. A module calls a function of the kernel and logs each execution
(section_board/calls.c), while nothing times it, `whylate section` does (by fentry, by kprobe),
funclatency (libbpf-tools) or `perf ftrace latency` (linux-perf), both as Debian has them; and small
pairs of programs (section_board/pair.c), which show what the kernel's way to programs costs.

cost     what each adds to a call: turns in random order, each tool once in a turn, beside nothing
         in the same turn. There is a figure where the tool counted every call.
lengths  8,000 executions of known lengths, 4 ns apart: what each tool adds to a duration, from its
         rows, or from how many executions its histogram has above each power of two
nested   executions within executions of the same thread: how many each tool counts, and how long
many     ten million calls with each tool, and with none: what each adds to one. Not in the default

With --counters ours reads these at both ends of each execution that is kept; the board has no PMU,
but events of the kernel's own, such as page-faults.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ratios import Difference, paired_difference
from section_turns import (
    COUNTED,
    FUNCTION,
    NOTHING,
    OURS,
    PAIRS,
    Done,
    Log,
    Numbers,
    Turn,
    bins_of,
    carry_out,
)
from whylate.boards.errors import BoardError
from whylate.lab.errors import LabError
from whylate.run.errors import RequestError

NS_PER_INSTRUCTION = 2
TOOLS = (*OURS, "funclatency", "perf")
PARTS = ("cost", "lengths", "nested")
ALL_PARTS = (*PARTS, "many")
#: Calls, rounds of the first, rounds that each has more, executions within each.
COST = (1000, 0, 0, 0)
LENGTHS = (8000, 50, 1, 0)
MANY = (10_000_000, 0, 0, 0)
NESTS = {depth: (50, 5000, 0, depth - 1) for depth in (6, 12)}


def executions_of(turn: Turn) -> int:
    """Return how many executions a turn makes."""
    calls, _, _, inner = turn.calls
    return calls * (inner + 1)


def is_applied(done: Done) -> bool:
    """Return whether the tool counted every execution of a turn."""
    made = COUNTED if done.turn.tool in PAIRS else executions_of(done.turn)
    return done.seen is not None and done.seen.count == made


def show_cost(turns: Sequence[Done]) -> None:
    """Print what each tool adds to a call."""
    alone = [done.log for done in turns if done.turn.tool == NOTHING]
    print(
        f"\ncost: a call of {FUNCTION} takes {alone[0].call_ns.mean():.0f} ns without hooks "
        f"({len(alone)} turns of {COST[0]:,} calls). Each adds, ns [95 % of the turns' means]:\n"
        f"{'':15}{'mean of a call':>28}{'instructions':>14}{'median':>8}{'longest':>9}{'batch':>8}"
    )
    for tool in (*TOOLS, *PAIRS):
        of_tool = [done for done in turns if done.turn.tool == tool]
        if not of_tool:
            continue
        if not all(map(is_applied, of_tool)):
            counts = [done.seen.count for done in of_tool if done.seen is not None]
            print(f"{tool:15}  no figure: of {COST[0]:,} calls it counted {counts}")
            continue
        logs = [done.log for done in of_tool]
        mean = added(logs, alone, lambda log: float(log.call_ns.mean()))
        print(
            f"{tool:15}{mean!s:>28}{mean.value / NS_PER_INSTRUCTION:14,.0f}"
            f"{added(logs, alone, lambda log: float(np.median(log.call_ns))).value:8,.0f}"
            f"{added(logs, alone, lambda log: float(log.call_ns.max())).value:9,.0f}"
            f"{added(logs, alone, lambda log: log.batch_ns / log.call_ns.size).value:8,.0f}"
        )


def added(
    logs: Sequence[Log], alone: Sequence[Log], figure_of: Callable[[Log], float]
) -> Difference:
    """Return by how much a figure of these turns is above that of the same turns without hooks."""
    return paired_difference(*([figure_of(log) for log in part] for part in (logs, alone)))


def added_ns(done: Done) -> Numbers:
    """Return what a tool adds to durations: of each row, or at each power of two.

    Of 8,000 executions with lengths 4 ns apart a histogram has so many from a power of two on: the
    shortest of so many is the first that is counted there, with what the tool adds.
    """
    assert done.seen is not None
    if done.seen.duration_ns is not None:
        return done.seen.duration_ns - done.log.duration_ns
    longest_first = np.sort(done.log.duration_ns)[::-1]
    above = {edge: sum(n for low, n in done.seen.bins.items() if low >= edge)
             for edge in done.seen.bins}  # fmt: skip
    return np.array([edge - longest_first[count - 1] for edge, count in above.items()
                     if 0 < count < longest_first.size])  # fmt: skip


def same_bins(bins: dict[int, int], duration_ns: Numbers) -> float:
    """Return the share of the counted executions that are where these durations have some."""
    expected = bins_of(duration_ns)
    shared = sum(min(count, expected.get(low, 0)) for low, count in bins.items())
    return shared / max(1, sum(bins.values()))


def show_lengths(turns: Sequence[Done]) -> dict[str, int]:
    """Print what each tool adds to a duration, and return it: ns, by tool."""
    floors: dict[str, int] = {}
    print(
        f"\nlengths: {LENGTHS[0]:,} executions, {min(turns[0].log.duration_ns):,} to "
        f"{max(turns[0].log.duration_ns):,} ns by their own clock. Each adds to a duration, ns:"
    )
    for done in turns:
        tool = done.turn.tool
        if not is_applied(done) or done.seen is None:
            print(f"{tool:15}  no figure: it counted {done.seen.count if done.seen else 0:,}")
            continue
        more = added_ns(done)
        floors[tool] = int(np.median(more))
        what = "rows" if done.seen.duration_ns is not None else "powers of two"
        print(
            f"{tool:15} median {floors[tool]:,} [{more.min():,}, {more.max():,}] of {more.size:,} "
            f"{what}; in the bin of their own length with it: "
            f"{same_bins(done.seen.bins, done.log.duration_ns + floors[tool]):.2%}"
        )
    show_bins(turns)
    return floors


def show_bins(turns: Sequence[Done]) -> None:
    """Print the histograms of a part side by side; the module's is of the first turn."""
    columns = [("module", bins_of(turns[0].log.duration_ns))]
    for done in turns:
        if done.seen is not None:
            columns.append((done.turn.tool, done.seen.bins))
            if done.seen.printed != done.seen.bins:
                columns.append((f"{done.turn.tool} prints", done.seen.printed))
    print(f"{'ns, from':>9} " + " ".join(f"{name:>14}" for name, _ in columns))
    for low in sorted({low for _, bins in columns for low, count in bins.items() if count}):
        print(f"{low:9,} " + " ".join(f"{bins.get(low, 0):14,}" for _, bins in columns))


def show_nested(turns: Sequence[Done], depth: int, floors: dict[str, int]) -> None:
    """Print what each tool makes of executions within others."""
    made = executions_of(turns[0].turn)
    print(f"\nnested {depth} deep: {made:,} executions. With what a tool adds to a duration:")
    for done in turns:
        if done.seen is None:
            continue
        floor_ns = floors.get(done.turn.tool, 0)
        log, bins = done.log, done.seen.bins
        innermost_ns = np.repeat(log.begin_ns[depth - 1 :: depth], depth)
        print(
            f"{done.turn.tool:15} counted {done.seen.count:,}; in the bin of their own length: "
            f"{same_bins(bins, log.duration_ns + floor_ns):.1%}, of the time since the innermost "
            f"began: {same_bins(bins, log.end_ns - innermost_ns + floor_ns):.1%}{rows_of(done)}"
        )
    show_bins(turns)


def rows_of(done: Done) -> str:
    """Return what rows say that a histogram does not, beside the accounting."""
    seen = done.seen
    if seen is None or seen.begin_ns is None or seen.duration_ns is None or seen.account is None:
        return ""
    # A row is of the next execution that began by its own clock.
    own = np.searchsorted(done.log.begin_ns, seen.begin_ns)
    if not own.size:
        return "; no rows"
    more = seen.duration_ns - done.log.duration_ns[own]
    account = seen.account
    return (
        f";\n{'':15} entries {account.entries:,} = returned {account.returned:,} + too deep "
        f"{account.too_deep:,} + left {account.left:,} + in flight {account.in_flight:,}; each row "
        f"is above its own execution by {more.min():,} to {more.max():,} ns"
    )


def turns_of(parts: Sequence[str], turns: int) -> list[Turn]:
    """Return what is done, in order."""
    planned: list[Turn] = []
    for number in range(turns if "cost" in parts else 0):
        order = [NOTHING, *TOOLS, *PAIRS]
        random.Random(number).shuffle(order)
        planned += [Turn(tool, COST) for tool in order]
    others = [LENGTHS] if {"lengths", "nested"} & set(parts) else []
    others += NESTS.values() if "nested" in parts else []
    planned += [Turn(tool, calls) for calls in others for tool in TOOLS]
    planned += [Turn(tool, MANY) for tool in (NOTHING, *TOOLS)] if "many" in parts else []
    return [replace(turn, number=number) for number, turn in enumerate(planned)]


def main() -> None:
    """Carry out the turns on the board and print what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=6, help="of the part cost, 6 or more")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--counters", default="", metavar="EVENTS", help="which ours reads")
    parser.add_argument("--keep", type=Path, help="a folder for what the board gave")
    options = parser.parse_args()
    parts = options.parts.split(",")
    counters = [name for name in options.counters.split(",") if name]
    if options.turns < 6 or not set(parts) <= set(ALL_PARTS):
        parser.error(f"6 turns or more, and of the parts {', '.join(ALL_PARTS)}")
    began = time.monotonic()
    try:
        done = carry_out(turns_of(parts, options.turns), options.keep, counters)
    except (LabError, BoardError, RequestError) as error:
        sys.exit(str(error))
    show(done)
    print(f"\nwall time {time.monotonic() - began:.0f} s, load average {os.getloadavg()[0]:.1f}")


def show(done: Sequence[Done]) -> None:
    """Print what came of each part that was carried out."""
    by_calls: dict[tuple[int, int, int, int], list[Done]] = {}
    for item in done:
        by_calls.setdefault(item.turn.calls, []).append(item)
    if COST in by_calls:
        show_cost(by_calls[COST])
    floors = show_lengths(by_calls[LENGTHS]) if LENGTHS in by_calls else {}
    for depth, calls in NESTS.items():
        if calls in by_calls:
            show_nested(by_calls[calls], depth, floors)
    if MANY in by_calls:
        show_many(by_calls[MANY])


def show_many(turns: Sequence[Done]) -> None:
    """Print what each tool adds to each of very many calls."""
    (alone,) = (done.log for done in turns if done.turn.tool == NOTHING)
    print(f"\nmany: {MANY[0]:,} calls take {alone.batch_ns / MANY[0]:.1f} ns each without hooks")
    for done in turns:
        if done.seen is None:
            continue
        if not is_applied(done):
            print(f"{done.turn.tool:15}  no figure: it counted {done.seen.count:,}")
            continue
        more_ns = (done.log.batch_ns - alone.batch_ns) / MANY[0]
        print(f"{done.turn.tool:15} adds {more_ns:,.1f} ns, all counted")


if __name__ == "__main__":
    main()
