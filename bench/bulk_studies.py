"""Are chunks better than one piece? Studies of bulk work under one lock, on the board pc.

`python bench/bulk_studies.py [--studies 60] [--first 1] [--results FILE]`

Work of 400 us under a lock that disables interrupts, every 4 ms: in one piece, in one piece once
more, and in chunks of 40 us. A study has 6 rounds of the three in virtual time, each run at a phase
and with seeds of its own. The chunks are better, and the two equal ones are to be called the same
for the median within 10 %. A study takes three minutes of one CPU; its result is kept, so that this
goes on where it was ended. Two of them go on at the same time with --first 1 and --first 31, and
files of their own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from many_studies import rate, verdicts
from result_book import ResultBook, Row
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant

ROUNDS = 6
SECONDS = 2.5
INTERVAL_NS = 250_000
WORK = "bulk-lock size_us=400 period_us=4000"
#: Else this kernel ends the work before it lets anybody run, chunks or not.
KERNEL = {"cmdline:preempt": "full"}
VARIANTS = [
    Variant("one-piece", {"cause": WORK, **KERNEL}),
    Variant("one-piece-again", {"cause": WORK, **KERNEL}),
    Variant("chunks", {"cause": f"{WORK} chunk_us=40", **KERNEL}),
]


def study(number: int) -> Row:
    """Make one study and return what it found."""
    plan = StudyPlan(
        workload=Wakeup(duration_ns=int(SECONDS * 1e9), interval_ns=INTERVAL_NS, priority=80),
        boards=["pc"],
        variants=VARIANTS,
        loads=[LoadSet("idle", [])],
        stop=Stop("runs", [ROUNDS]),
        margins={"p50": 1.1},
        virtual_time=True,
        smp=1,
        seed=number,
    )
    found = verdicts(plan, lambda name, words: open_board(name, BoardOptions(1, words)))
    again, chunks = found["one-piece-again"], found["chunks"]
    return {
        "number": number,
        "chunks": chunks.verdict,
        "again": again.verdict,
        "why": chunks.why,
        "why_again": again.why,
        "p_again": again.p,
    }


def main() -> None:
    """Make the studies that are missing, and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--first", type=int, default=1, help="number of the first study")
    parser.add_argument("--results", type=Path, default=Path("build/bench/bulk_studies.jsonl"))
    options = parser.parse_args()
    stamp = {"rounds": ROUNDS, "seconds": SECONDS, "work": WORK, "first": options.first}
    book = ResultBook(options.results, stamp)
    for number in range(len(book.rows("pc")), options.studies):
        book.add("pc", study(options.first + number))
        print(f"{number + 1}: {book.rows('pc')[-1]}", flush=True)
    rows = book.rows("pc")
    print(f"chunks called better    {rate([row['chunks'] == 'better' for row in rows])}")
    print(f"equal ones called same  {rate([row['again'] == 'same' for row in rows])}")
    called = [row["again"] in ("better", "worse") for row in rows]
    print(f"equal ones said to differ  {rate(called)}")


if __name__ == "__main__":
    main()
