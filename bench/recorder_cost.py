"""What the flight recorder costs: in latency, in instructions, in time an event, in slow-down.

`python bench/recorder_cost.py [--parts pairs,event,virtual,rivals] [--pairs 80] [--seconds 3]
[--rounds 20] [--load ''] [--results build/bench/recorder_cost.jsonl] [--afresh]`

pairs    runs with the recorder and without, interleaved: the ratio of median and p99
event    mean time of an event, as the kernel's BPF statistics count over whole runs
virtual  instructions that it adds to the median activation, exact, in virtual time
rivals   slow-down of two benchmarks of the scheduler, beside runqlat and `perf sched record`

Interrupted, it goes on where it was. Needs root; `virtual` needs the virtual boards (make lab).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import recorder_rivals
from ratios import paired_ratio
from result_book import ResultBook, Row
from whylate.boards.local import LocalBoard
from whylate.recording.manifest import Manifest
from whylate.recording.plan import LoadPlan, RunPlan, Setting
from whylate.recording.reader import Recording, open_recording
from whylate.recording.recorder.windows import read_windows
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.loads import parse_load
from whylate.run.measure import measure
from whylate.run.progress import Quiet

PRIORITY = 95
INTERVAL_NS = 1_000_000
#: QEMU's `-icount shift=1`: each instruction takes 2 ns of virtual time.
NS_PER_INSTRUCTION = 2
#: A median of a few hundred that repeat to the instruction.
VIRTUAL_FOR = "400ms"
VIRTUAL = (("virt-arm64", "bpf"), ("virt-arm64", "tracefs"), ("pc", "bpf"), ("pc", "tracefs"))
STATISTICS = Setting("/proc/sys/kernel/bpf_stats_enabled", "1")
EVENT_LOADS = ("", "switch", "net")


def loads_of(text: str) -> tuple[LoadPlan, ...]:
    """Return the loads of a list with commas."""
    return tuple(parse_load(one) for one in text.split(",") if one)


def run(
    seconds: float, load: str, *, recorded: bool, settings: tuple[Setting, ...] = ()
) -> tuple[Manifest, np.ndarray]:
    """Measure this machine; return the manifest and all latencies, ns."""
    with tempfile.TemporaryDirectory() as folder:
        request = RunPlan(
            workload=Wakeup(
                duration_ns=int(seconds * 1e9),
                interval_ns=INTERVAL_NS,
                priority=PRIORITY,
                recorder=RecorderPlan() if recorded else None,
            ),
            loads=list(loads_of(load)),
            settings=list(settings),
        )
        manifest = measure(LocalBoard(), request, Path(folder) / "r", Quiet())
        samples = open_recording(Path(folder) / "r").samples
    if manifest.state != "complete" or (recorded and not engine_of(manifest)):
        sys.exit(f"a run is not whole, or nothing was recorded in it: {manifest.problems}")
    return manifest, np.concatenate([cpu.latency_ns for cpu in samples])


def engine_of(manifest: Manifest) -> str | None:
    """Return the engine that recorded."""
    return manifest.recorder.engine if manifest.recorder is not None else None


def pairs(book: ResultBook, count: int, seconds: float, load: str) -> None:
    """Run the pairs that are still to do."""
    for number in range(len(book.rows("pairs")), count):
        order = [True, False]
        random.Random(number).shuffle(order)
        row: Row = {}
        for recorded in order:
            _, latency_ns = run(seconds, load, recorded=recorded)
            row["on" if recorded else "off"] = [
                float(x) for x in np.percentile(latency_ns, [50, 99])
            ]
        book.add("pairs", row)
        print(f"pair {number + 1:3}: p50 {row['on'][0]:8.0f} {row['off'][0]:8.0f}"
              f"  p99 {row['on'][1]:8.0f} {row['off'][1]:8.0f}", flush=True)  # fmt: skip


def show_pairs(book: ResultBook) -> None:
    """Print the ratios with the recorder on and off."""
    rows = book.rows("pairs")
    for place, name in enumerate(("median", "p99")):
        ratio = paired_ratio([row["on"][place] for row in rows],
                             [row["off"][place] for row in rows])  # fmt: skip
        print(f"{name:8} with the recorder / without   {ratio}")


def event(book: ResultBook, seconds: float) -> None:
    """Have the kernel measure every event of a run under each load."""
    for load in EVENT_LOADS[len(book.rows("event")) :]:
        manifest, _ = run(seconds, load, recorded=True, settings=(STATISTICS,))
        found = manifest.recorder
        if found is None or not found.runs or found.run_ns is None:
            sys.exit("the kernel measured no programs: this takes the BPF engine")
        sampled = (found.sampled_ns or 0) / (found.sampled_runs or 1)
        book.add("event", {"load": load, "runs": found.runs, "mean_ns": found.run_ns / found.runs,
                           "sampled_ns": sampled, "windows": found.windows})  # fmt: skip


def show_event(book: ResultBook) -> None:
    """Print the mean time of an event."""
    for row in book.rows("event"):
        load = row["load"] or "none"
        print(
            f"load {load:8} {row['mean_ns']:6.1f} ns an event over {row['runs']:,} events; "
            f"sampled before the run {row['sampled_ns']:.1f} ns"
        )


def virtual(book: ResultBook) -> None:
    """Measure each virtual board with each engine and without, in virtual time."""
    done = {(row["board"], row["engine"]) for row in book.rows("virtual")}
    for board, engine in VIRTUAL:
        if (board, engine) not in done:
            book.add("virtual", {"board": board, "engine": engine,
                                 "off_ns": virtual_run(board, None)[0],
                                 **recorded_run(board, engine)})  # fmt: skip


def recorded_run(board: str, engine: str) -> Row:
    """Return what a run with the recorder gave."""
    median_ns, row = virtual_run(board, engine)
    return {"on_ns": median_ns, **row}


def virtual_run(board: str, engine: str | None) -> tuple[float, Row]:
    """Return the median latency, ns of virtual time, and what the recorder says of its events."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "whylate", "measure", board, "--virtual-time", "--for",
                   VIRTUAL_FOR, "-o", f"{folder}/r"]  # fmt: skip
        command += ["--recorder", engine] if engine else ["--no-recorder"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not (Path(folder) / "r").exists():
            sys.exit(f"{board} was not measured: {done.stderr[-300:]}")
        recording = open_recording(Path(folder) / "r")
        latency_ns = np.concatenate([cpu.latency_ns for cpu in recording.samples])
        found = recording.manifest.recorder
        if found is None:
            return float(np.median(latency_ns)), {}
        sampled_ns = (found.sampled_ns or 0) / (found.sampled_runs or 1)
        median_ns = float(np.median(latency_ns))
        row = {"events": events_of(recording, median_ns), "sampled_ns": sampled_ns}
        return median_ns, row


def events_of(recording: Recording, latency_ns: float) -> float:
    """Return how many events of its own CPU an activation has that is about so late.

    The median of those of which there is a window, within 5 %.
    """
    counts = [
        sum(event.cpu == window.cpu and window.due_ns <= event.time_ns <= window.run_ns
            for event in window.events)
        for window in read_windows(recording.directory)
        if abs(window.latency_ns - latency_ns) < 0.05 * latency_ns
    ]  # fmt: skip
    return float(np.median(counts)) if counts else float("nan")


def show_virtual(book: ResultBook) -> None:
    """Print the instructions that recording adds."""
    for row in book.rows("virtual"):
        added = (row["on_ns"] - row["off_ns"]) / NS_PER_INSTRUCTION
        before, each = row["off_ns"] / NS_PER_INSTRUCTION, row["sampled_ns"] / NS_PER_INSTRUCTION
        print(
            f"{row['board']:12} {row['engine']:8} {added:6.0f} instructions more in the median "
            f"activation ({before:.0f} without), for {row['events']:g} events of {each:.0f}, as "
            "sampled before the run"
        )


def main() -> None:
    """Run the parts that are asked for and print what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default="virtual,event,pairs,rivals")
    parser.add_argument("--pairs", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--load", default="", help="of the pairs")
    parser.add_argument("--results", type=Path, default=Path("build/bench/recorder_cost.jsonl"))
    parser.add_argument("--afresh", action="store_true", help="do not go on with earlier results")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root")
    if "rivals" in options.parts and (lacking := recorder_rivals.missing()):
        sys.exit(
            f"rivals are missing: apt install {' '.join(lacking)}, or leave them out (--parts)"
        )
    if options.afresh:
        options.results.unlink(missing_ok=True)
    stamp = {"probe": LocalBoard().binary.sha256, "seconds": options.seconds, "load": options.load}
    book = ResultBook(options.results, stamp)
    print(f"load average {' '.join(f'{x:.2f}' for x in os.getloadavg())}", flush=True)
    for part in options.parts.split(","):
        if part == "pairs":
            pairs(book, options.pairs, options.seconds, options.load)
            show_pairs(book)
        elif part == "event":
            event(book, options.seconds)
            show_event(book)
        elif part == "virtual":
            virtual(book)
            show_virtual(book)
        elif part == "rivals":
            recorder_rivals.run(book, options.rounds)
            recorder_rivals.show(book)
        else:
            sys.exit(f"there is no part {part!r}: there are virtual, event, pairs and rivals")
    print(f"load average {' '.join(f'{x:.2f}' for x in os.getloadavg())}")


if __name__ == "__main__":
    main()
