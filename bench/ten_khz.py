"""10 kHz on every CPU: is every activation in the file, exactly, and how large is it?

`python bench/ten_khz.py [--seconds 60]`
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from whylate.recording.reader import open_recording
from whylate.recording.store.samples import NAME


def main() -> None:
    """Measure, then count and weigh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "r"
        command = [sys.executable, "-m", "whylate", "measure", "--for", f"{options.seconds}s"]
        command += ["--interval", "100us", "--json", "-o", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        result = json.loads(done.stdout)
        recording = open_recording(directory)
        rows = sum(cpu.activation.size for cpu in recording.samples)
        gaps = sum(int((np.diff(cpu.activation) - 1).sum()) for cpu in recording.samples)
        digits = np.concatenate([cpu.latency_ns % 10 for cpu in recording.samples])
        size = (directory / NAME).stat().st_size
        print(f"{options.seconds} s at 10 kHz on {len(recording.samples)} CPUs: "
              f"{result['expected']} expected = {result['seen']} seen + {result['overrun']} "
              f"overrun + {result['dropped']} dropped; trust {result['trust']}")  # fmt: skip
        print(f"rows in {NAME}: {rows}, gaps {gaps}, {size / rows:.2f} bytes a sample")
        print(f"last digits of latency_ns: {np.bincount(digits, minlength=10).tolist()} "
              "(all ten occur: nothing was rounded)")  # fmt: skip
        probe = recording.manifest.probe
        print(f"probe: {(probe.cpu_time_ns or 0) / 1e9:.2f} s of CPU time, "
              f"{(probe.peak_memory_bytes or 0) / 2**20:.0f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
