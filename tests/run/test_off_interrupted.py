"""Ctrl-C in a run that looks for what is disabled keeps the turn that it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from whylate.recording.reader import open_recording
from whylate.recording.store.stretches import read_stretches

pytestmark = pytest.mark.machine

#: One turn; a block of it.
LENGTH_S, BLOCK_NS = 40, 200_000_000


def test_ctrl_c_keeps_what_was_seen_of_the_turn_under_way(tmp_path: Path) -> None:
    directory = tmp_path / "r"
    with subprocess.Popen(
        [sys.executable, "-m", "whylate", "section", "irqs-off", "--hook", "samples", "--every",
         "1ms", "--for", f"{LENGTH_S}s", "-o", str(directory)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        before = ""
        while "measuring" not in before and (line := process.stderr.readline()):
            before += line
        time.sleep(5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    errors = before + errors
    if "cannot be kept here" in errors or "cannot be sampled" in errors:
        pytest.skip("this kernel permits no samples")
    assert time.monotonic() - began < 20
    assert process.returncode == 3, errors
    recording = open_recording(directory)
    assert recording.manifest.state == "interrupted"
    lengths_ns = recording.repetitions.column("ns")
    cpus = len(set(recording.repetitions.column("cpu").tolist()))
    assert cpus * 5e8 < lengths_ns.sum() < cpus * 1e9 * LENGTH_S / 2
    # All but the last are whole.
    assert (lengths_ns[:-cpus] == BLOCK_NS).all()
    points = recording.repetitions.column("points")
    assert points.tolist() == (lengths_ns // 1_000_000).tolist()
    stretches = read_stretches(directory, turns=1).columns
    assert stretches["at_ns"].max(initial=0) <= lengths_ns[::cpus].sum()
