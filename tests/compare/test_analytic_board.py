"""The bound that needs no luck, on a virtual board with a fault that no activation meets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import starts
from own_boards import own_boards
from whylate.compare.analytic import analytic_bound
from whylate.recording.recorder.windows import read_windows

pytestmark = pytest.mark.qemu
#: Of the fault, which acts 4 ms after each fifth activation or so.
SIZE_NS = 80_000
FAULT = f"slow-irq size_us={SIZE_NS // 1000} period_us=50000 jitter_us=0 phase_us=4000"
NAME = "interrupt slow_irq"


def test_an_interrupt_that_no_window_has_is_in_the_bound_by_its_maximum(tmp_path: Path) -> None:
    with own_boards("pc"):
        command = [sys.executable, "-m", "whylate", "measure", "pc", "--virtual-time", "--smp", "1"]
        command += ["--for", "500ms", "--interval", "10ms", "--fault", FAULT, "-o", "r"]
        done = starts.run(command, check=False, capture_output=True, cwd=tmp_path, timeout=240)
        assert done.returncode == 0, done.stderr
    (log,) = json.loads((tmp_path / "r/faults.json").read_text())
    assert len(log["events"]) > 5
    windows = list(read_windows(tmp_path / "r"))
    assert windows
    assert not any(event.name == "slow_irq" for window in windows for event in window.events)
    worst = analytic_bound([tmp_path / "r"])
    assert worst.maxima
    (piece,) = [piece for piece in worst.pieces if piece.name == NAME]
    longest_ns = max(length_ns for _, length_ns, _ in log["events"])
    assert longest_ns <= piece.longest_ns < longest_ns + 10_000
    assert piece.times == 1
    assert worst.windows_bound_ns is not None
    assert worst.bound_ns is not None
    assert worst.windows_bound_ns < SIZE_NS < worst.bound_ns
