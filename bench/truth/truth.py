"""Does `whylate explain` tell the truth? Known causes on virtual boards, and what it says of them.

`make truth`, or `python bench/truth/truth.py [--for 90m] [--only WORDS] [--rounds N] [--mark]`

Runs the plan (truth_plan.py), keeps every recording, marks every answer and writes the tables to
truth.md in docs. What was run is not run again: ended early, it goes on where it was. --mark runs
nothing and marks what is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from truth_case import Case
from truth_mark import Marked, mark
from truth_page import write_page
from truth_plan import ROUNDS, plan
from truth_runs import RunFailedError, is_made, make
from truth_tables import tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "truth.md"
_UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds(text: str) -> float:
    """Return the seconds in `90m`."""
    return float(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else float(text)


def run(cases: Sequence[Case], limit_s: float) -> list[str]:
    """Run what was not run yet, until the time is over; return what failed."""
    began = time.monotonic()
    left = [case for case in cases if not is_made(case)]
    print(f"{len(cases)} cases, {len(cases) - len(left)} of them made before", flush=True)
    failed: list[str] = []
    for number, case in enumerate(left):
        spent_s = time.monotonic() - began
        if spent_s > limit_s:
            print(f"time is over: {len(left) - number} cases are left for another time")
            break
        try:
            make(case)
        except RunFailedError as error:
            failed.append(str(error))
            print(f"  {error}", flush=True)
        each_s = (time.monotonic() - began) / (number + 1)
        to_go_m = each_s * (len(left) - number - 1) / 60
        print(f"{number + 1}/{len(left)} {case.name}: {to_go_m:.0f} min to go", flush=True)
    return failed


def marks(cases: Sequence[Case]) -> list[Marked]:
    """Mark every case that was made."""
    return [mark(case) for case in cases if is_made(case)]


def main() -> None:
    """Run and mark, and print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="limit", default="24h", help="no case begins after that")
    parser.add_argument("--only", default="", help="cases whose name contains one of these words")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--mark", action="store_true", help="run nothing")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the tables are written")
    options = parser.parse_args()
    words = options.only.split(",")
    cases = [case for case in plan(options.rounds) if any(word in case.name for word in words)]
    failed = [] if options.mark else run(cases, seconds(options.limit))
    marked = marks(cases)
    if not marked:
        sys.exit("nothing was run")
    text = tables(marked, len(cases), failed)
    print(text)
    if not options.only:
        write_page(options.page, text)


if __name__ == "__main__":
    main()
