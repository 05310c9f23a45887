"""How often is the class of a longer execution right, where a module knows why each took longer?

`make bench-reasons_on_boards ARGS='--for 3'`

In virtual time, on pc (fentry) and virt-arm64 (kprobes, cycles and instructions), with samples: see
tests/run/executions.c. Every third execution has a reason; longer is what took more than twice the
median.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rates import rate

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "run")]

from section_reasons import (  # noqa: E402
    BOARDS,
    CLASSES,
    COUNTERS,
    classes_by_counters,
    classes_of,
    longer_of,
    reasons_of,
    run_for,
)
from section_rig import REASONS  # noqa: E402

from own_boards import own_boards  # noqa: E402 (it is found in the folder of the tests)

#: By counters and samples, of what has no class by time.
BY_COUNTERS = {"longer path": "more work", "spin": "spinning"}


def rows_of(board: str, seconds: float) -> Iterator[str]:
    """Yield lines of a table."""
    timed, known = run_for(board, round(1e9 * seconds))
    is_longer = longer_of(timed)
    reasons = reasons_of(timed, known)[is_longer]
    found = classes_of(timed, is_longer)
    if COUNTERS[board]:
        by_counters = classes_by_counters(timed, is_longer)
        for place, row in enumerate(np.flatnonzero(is_longer).tolist()):
            if by_counters.get(row) in BY_COUNTERS.values():
                found[place] = by_counters[row]
    for number, reason in enumerate(REASONS):
        own = found[reasons == number]
        if not own.size:
            continue
        right = CLASSES.get(reason, reason or "unexplained")
        if COUNTERS[board]:
            right = BY_COUNTERS.get(reason, right)
        others = Counter(own[own != right].tolist())
        text = ", ".join(f"{count} {name}" for name, count in others.items())
        yield (f"| {board} | {reason or 'none'} | {right} | {own.size:,} | "
               f"{rate((own == right).tolist())} | {text} |")  # fmt: skip
    without = int((reasons_of(timed, known) == 0).sum())
    yield f"| {board} | none, of all | | {without:,} | | |"


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="seconds", type=float, default=3)
    options = parser.parse_args()
    print("| board | reason | class | longer | right | others |")
    print("|---|---|---|---|---|---|")
    with own_boards(*BOARDS):
        for board in BOARDS:
            for line in rows_of(board, options.seconds):
                print(line, flush=True)


if __name__ == "__main__":
    main()
