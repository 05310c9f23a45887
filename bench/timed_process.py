"""Runs whylate as a process, and says what it took of time and of memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

#: Runs a module, or finishes a recording, and reports its peak at the end: ru_maxrss has that of
#: the process that started it too, as it was then.
_WATCHED = """
import atexit, os, runpy, sys
from pathlib import Path

fd = int(sys.argv.pop(1))

def report():
    lines = Path("/proc/self/status").read_text().splitlines()
    os.write(fd, next(line for line in lines if line.startswith("VmHWM:")).split()[1].encode())

atexit.register(report)
if sys.argv[1] == "finish":
    from whylate.recording.reader import open_recording
    open_recording(Path(sys.argv[2]))
else:
    runpy.run_module("whylate", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Took:
    """What a process took: seconds of wall and of CPU time, and its peak memory, MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run(*words: str) -> Took:
    """Run `whylate WORDS`, or finish a recording; exit where it fails."""
    started = time.monotonic()
    reading, writing = os.pipe()
    with os.fdopen(reading) as peak:
        process = subprocess.Popen(
            [sys.executable, "-c", _WATCHED, str(writing), *words],
            stdout=subprocess.DEVNULL,
            pass_fds=[writing],
        )
        os.close(writing)
        peak_kib = peak.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3) or not peak_kib:
        sys.exit(f"whylate {' '.join(words)} failed with status {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Took(time.monotonic() - started, cpu_s, int(peak_kib) / 1024)


def summed_up(runs: Sequence[Took]) -> str:
    """Return what several runs took, in words."""
    walls, cpu = [took.wall_s for took in runs], [took.cpu_s for took in runs]
    return (
        f"median {statistics.median(walls):.1f} s (longest {max(walls):.1f} s), CPU time "
        f"{statistics.median(cpu):.1f} s, peak memory {max(took.peak_mib for took in runs):.0f} MiB"
    )
