"""How much of the tail stays unexplained, on this machine and on virtual boards, under each load?

`python bench/unexplained.py [--boards local,pc,virt-arm64] [--loads none,memory,...] [--seconds 30]
[--results build/bench/unexplained.jsonl] [--afresh]`

Late is the slowest thousandth of a run. The share is of their excess over control activations, the
95th percentile is over episodes, of the part of each one's latency; what was not observed stands
beside it. Virtual boards run in virtual time, a tenth as long, with one CPU: two would take turns,
and little else would be seen. Interrupted, it goes on where it was. Needs root, and the virtual
boards (make lab).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from recorder_cost import loads_of
from result_book import ResultBook, Row
from whylate.boards.local import LocalBoard
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.causes.answer import explain_recording, unexplained_share
from whylate.causes.window.piece import Cause
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.loads import LOAD_KINDS
from whylate.run.progress import Quiet
from whylate.run.several import Job, carry_out

LOCAL = "local"
PRIORITY = 95
INTERVAL_NS = 250_000
#: A board's second takes an emulator several of ours.
VIRTUAL_PART = 10
LOADS = ("none", *(kind for kind in LOAD_KINDS if kind != "cmd"))


def tail_of(board: str, load: str, seconds: float) -> Row:
    """Measure a board under a load; return what its tail's answer is made of."""
    virtual = board != LOCAL
    request = RunPlan(
        workload=Wakeup(
            duration_ns=int(seconds * 1e9 / (VIRTUAL_PART if virtual else 1)),
            interval_ns=INTERVAL_NS,
            priority=PRIORITY,
            recorder=RecorderPlan(),
        ),
        loads=list(loads_of("" if load == "none" else load)),
        virtual_time=virtual,
    )
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "r"
        job = Job(
            board,
            lambda: open_board(board, BoardOptions(cpus=1 if virtual else None)),
            request,
            directory,
            Quiet(),
        )
        outcome = carry_out(job, lambda: False)
        if outcome.error is not None:
            sys.exit(f"{board} under {load}: {outcome.error}")
        answer = explain_recording(open_recording(directory), worst=1 << 30)
    found = answer.population
    if found is None:
        sys.exit(f"{board} under {load}: {answer.why_not}")
    share, p95 = unexplained_share(answer)
    hidden = sum(share.share for share in found.causes if share.cause is Cause.NOT_OBSERVED)
    return {"episodes": found.episodes, "recorded": found.recorded, "unexplained": share,
            "p95": p95, "not_observed": hidden}  # fmt: skip


def main() -> None:
    """Run what is asked for and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--boards", default="local,pc,virt-arm64")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--results", type=Path, default=Path("build/bench/unexplained.jsonl"))
    parser.add_argument("--afresh", action="store_true", help="do not go on with earlier results")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root")
    if options.afresh:
        options.results.unlink(missing_ok=True)
    book = ResultBook(
        options.results, {"probe": LocalBoard().binary.sha256, "seconds": options.seconds}
    )
    for board in options.boards.split(","):
        for load in options.loads.split(","):
            done = {row["load"]: row for row in book.rows(board)}
            row = done.get(load)
            if row is None:
                row = {"load": load, **tail_of(board, load, options.seconds)}
                book.add(board, row)
            print(
                f"{board:12} {load:8} {row['episodes']:5} episodes, {row['recorded']:5} recorded: "
                f"unexplained {row['unexplained']:6.1%} of the excess, {row['p95']:6.1%} of an "
                f"episode at p95; not observed {row['not_observed']:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
