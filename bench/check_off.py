"""Are stretches with interrupts or preemption disabled those that faults log? On the board pc.

`make bench-check_off ARGS='--for 4s'`

Boots the board once for each case, in virtual time, and compares what `whylate section irqs-off`
and `preempt-off` print with the log of the fault that was injected: the time in a second, and by
how many of the stretches that were seen for a period or more a function of the fault is named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

#: What is sampled, the fault, and its module.
CASES = (
    ("irqs-off", "irqs-off size_us=500 period_us=20000", "irqs_off"),
    ("irqs-off", "irqs-off size_us=2000 period_us=50000", "irqs_off"),
    ("irqs-off", "irqs-off size_us=70 period_us=2000", "irqs_off"),
    ("irqs-off", "irqs-off size_us=20 period_us=1000 jitter_us=300", "irqs_off"),
    ("preempt-off", "preempt-off size_us=500 period_us=20000", "preempt_off"),
    ("preempt-off", "bulk-lock size_us=500 period_us=20000", "bulk_lock"),
)
PERIOD_NS = 53_000


@dataclass(frozen=True)
class Compared:
    """ms in a second: by the log, and by samples with the interval; named: of how many lasting."""

    logged: float
    seen: float
    low: float
    high: float
    named: int
    lasting: int


def measure(what: str, fault: str, options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Look at the board while the fault acts; return what --json prints."""
    command = [
        *(sys.executable, "-m", "whylate", "section", what, options.board, "--virtual-time"),
        *("--json", "--hook", options.hook, "--smp", "1", "--for", options.length),
        *("--fault", fault, "-o", str(directory)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def groups_of(report: dict[str, Any], what: str, module: str) -> Iterator[int]:
    """Yield the groups that a function of the module ended; of preemption, in its callers."""
    for group in report["groups"]:
        callers = group["callers"][:1] if what == "irqs-off" else group["callers"]
        if group["why"] == "disabled" and any(f"[{module}]" in caller for caller in callers):
            yield group["group"]


def compare(what: str, module: str, document: dict[str, Any], directory: Path) -> Compared:
    """Compare a recording with the log of its fault."""
    report = json.loads((directory / "manifest.json").read_bytes())["turns"][0]["off"]
    (fault,) = json.loads((directory / "faults.json").read_bytes())
    events = np.array(fault["events"], np.int64)
    # A board that is prepared may hold the fault up for once, before the run.
    every_ns = float(np.median(np.diff(events[:, 0])))
    off = document["off"]
    ours = list(groups_of(report, what, module))
    points = sum(report["groups"][group]["points"] for group in ours)
    point_ns = 1 if off["method"] == "tracepoints" else PERIOD_NS
    seen = 1e3 * points * point_ns / off["sampled_ns"]
    others = off["per_second_ns"] / 1e6 - seen
    rows = pq.read_table(directory / "stretches.parquet")
    lasting = rows.column("seen_ns").to_numpy() >= PERIOD_NS
    named = np.isin(rows.column("group").to_numpy(), ours)
    return Compared(
        logged=1e3 * float(events[:, 1].mean()) / every_ns,
        seen=seen,
        low=off["low_ns"] / 1e6 - others,
        high=off["high_ns"] / 1e6 - others,
        named=int((lasting & named).sum()),
        lasting=int(lasting.sum()),
    )


def main() -> None:
    """Measure all cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--for", dest="length", default="4s")
    parser.add_argument("--board", default="pc")
    parser.add_argument("--hook", default="best", help="samples, or tracepoints")
    parser.add_argument("--only", help="faults with this in their description")
    options = parser.parse_args()
    print("| sampled | fault | logged, ms/s | seen, ms/s | off by | named |")
    print("|---|---|---|---|---|---|")
    for what, fault, module in CASES:
        if options.only and options.only not in fault:
            continue
        with tempfile.TemporaryDirectory(prefix="whylate-off-") as name:
            directory = Path(name) / "r"
            document = measure(what, fault, options, directory)
            compared = compare(what, module, document, directory)
        off = compared.seen / compared.logged - 1
        print(
            f"| {what} | {fault} | {compared.logged:.2f} | {compared.seen:.2f} "
            f"[{compared.low:.2f}, {compared.high:.2f}] | {100 * off:+.1f} % "
            f"| {compared.named} of {compared.lasting} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
