"""A line that damages 1 % of the bytes, both ways: what of a run is lost, and what does it cost?

`python bench/noisy_line.py [--rate 0.01] [--seconds 10] [--interval-us 1000]`

The whole of a run, with the real probe behind the noisy relay of the tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from whylate.boards.board import Notify, StartedProbe
from whylate.boards.local import LocalBoard
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "probe"))
from bad_line import Noise, RelayedStream


class NoisyBoard(LocalBoard):
    """This machine behind a bad line."""

    def __init__(self, rate: float) -> None:
        self.up, self.down = Noise(1, rate), Noise(2, rate)

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Start the probe behind the relay."""
        del notify
        stream = RelayedStream([str(self.binary.path)], self.up, self.down)
        return StartedProbe(stream, self.binary)


def main() -> None:
    """Measure over the line and print the account."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--interval-us", type=int, default=1000)
    options = parser.parse_args()
    board = NoisyBoard(options.rate)
    request = RunPlan(
        workload=Wakeup(
            duration_ns=int(options.seconds * 1e9), interval_ns=options.interval_us * 1000
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        manifest = measure(board, request, Path(folder) / "r", Quiet())
        took = time.monotonic() - started
    expected, seen, overrun, dropped = (
        sum(getattr(cpu, name) for cpu in manifest.cpus)
        for name in ("expected", "seen", "overrun", "dropped")
    )
    probe = manifest.probe
    print(f"{options.rate:.1%} of the bytes damaged both ways "
          f"({board.down.changed} of {board.down.bytes} coming, "
          f"{board.up.changed} of {board.up.bytes} going), "
          f"{len(manifest.cpus)} CPUs every {options.interval_us} µs")  # fmt: skip
    print(f"{expected} expected = {seen} seen + {overrun} overrun + {dropped} dropped; "
          f"{probe.frames} frames arrived, {probe.frames_damaged} damaged, "
          f"{probe.frames_resent} asked for again, {probe.frames_lost} lost for good")  # fmt: skip
    print(f"the whole run took {took:.1f} s for {options.seconds:g} s of measuring")


if __name__ == "__main__":
    main()
