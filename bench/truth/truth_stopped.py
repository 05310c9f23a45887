"""A machine that is stopped from outside, in real time: nothing that ran on it may be blamed.

`python bench/truth/truth_stopped.py [--boards pc,virt-arm64] [--runs 3] [--seconds 15]`

The emulator is stopped for 20 ms twice a second, as firmware or a hypervisor would stop a machine.
The board cannot see that. Right is what says so: steal, unexplained or not observed, and never a
thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from truth_case import CPU, PRIORITY

from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import ready
from whylate.causes.answer import Answer, explain_recording
from whylate.causes.window.piece import Cause
from whylate.lab.description import virtual_board
from whylate.lab.faults.catalogue import use
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.faults.machine_stops import MachineStops
from whylate.run.measure import measure
from whylate.run.progress import Quiet

RIGHT = frozenset({Cause.STEAL, Cause.UNEXPLAINED, Cause.NOT_OBSERVED})
STOP_US = 20_000
#: Only what is as late as a stop is long is asked about; an emulator in real time has much that
#: is less late.
LATE_NS = STOP_US * 1000 // 2


def explained(name: str, seed: int, seconds: float, directory: Path) -> Answer:
    """Measure a board in real time while it is stopped again and again, and explain its tail."""
    board = QemuBoard(virtual_board(name), VirtualOptions(cpus=1))
    used = use("machine-stopped", {"size_us": STOP_US, "period_us": 500_000, "seed": seed})
    request = RunPlan(
        workload=Wakeup(
            duration_ns=int(seconds * 1e9),
            interval_ns=1_000_000,
            priority=PRIORITY,
            recorder=RecorderPlan(threshold_ns=LATE_NS),
        ),
        cpus=[CPU],
    )
    with ready(board, notify_nobody):
        pid = board.machine.pid
        assert pid is not None
        stops = MachineStops(used, pid, board, notify_nobody)
        stops.start()
        try:
            measure(board, request, directory, Quiet())
        finally:
            stops.end()
    return explain_recording(open_recording(directory))


def main() -> None:
    """Say for each run what its tail was put down to, and how many runs were wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", default="pc,virt-arm64")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    wrong = 0
    for name in options.boards.split(","):
        for seed in range(1, options.runs + 1):
            with tempfile.TemporaryDirectory() as folder:
                found = explained(name, seed, options.seconds, Path(folder) / "r").population
            if found is None:
                sys.exit(f"{name}: nothing was late")
            unknown = sum(share.share for share in found.causes if share.cause in RIGHT)
            blamed = [
                f"{share.cause} {share.detail}"
                for share in found.significant
                if share.cause not in RIGHT
            ]
            threads = any(share.cause is Cause.THREAD for share in found.significant)
            wrong += threads
            print(
                f"{name} seed {seed}: {found.episodes} late, {100 * unknown:.1f} % steal, "
                f"unexplained or not observed; called: {', '.join(blamed) or 'nothing'}",
                flush=True,
            )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
