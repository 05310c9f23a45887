"""A recording of ten hours: what each verb takes of time and of memory.

`python bench/hours.py [--activations 150000000] [--keep FOLDER]`

The recording is made up (long_recording.py); its journal is finished by `whylate`, and each verb
runs as a process. Memory is the process's peak resident set (VmHWM). The temporary file with
the columns of a long recording is read by pread(2): it lies in the system's cache and on the disk,
and is in no process's memory. Wall time depends on what else the machine does: CPU time stands
beside it.

`python bench/hours.py --real --for 2h [--interval 100us]`

measures this machine for so long, and reads every 10 s what the host's process and the probe's have
in memory: its range, and its slope by least squares, after the first minute.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from long_recording import real_template, write_journal
from timed_process import Took, run
from whylate.quantities import parse_ns
from whylate.recording.manifest import MANIFEST, Manifest
from whylate.recording.store.journal import NAME as JOURNAL
from whylate.recording.store.samples import NAME as SAMPLES

MIB = 1 << 20
#: Seconds between two looks at a process, and for how long it may still grow.
_LOOK_S, _WARM_UP_S = 10, 60


def another(directory: Path, copy: Path) -> Path:
    """Make a second recording of the same samples, which passes for another run."""
    shutil.copytree(directory, copy, copy_function=os.link)
    manifest = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest)
    (copy / MANIFEST).unlink()
    other = msgspec.structs.replace(manifest, samples_sha256="0" * 64)
    (copy / MANIFEST).write_bytes(msgspec.json.encode(other))
    return copy


def verbs(first: Path, second: Path) -> dict[str, Sequence[str]]:
    """Return what is timed, by its name."""
    return {
        "report": ("report", str(first)),
        "report --json": ("report", str(first), "--json"),
        "explain": ("explain", str(first)),
        "compare": ("compare", str(first), str(second)),
        "diff": ("diff", str(first), str(second)),
        "bound --above 1ms": ("bound", str(first), "--above", "1ms"),
    }


def made_up(folder: Path, activations: int) -> None:
    """Make a recording of so many activations, and time the verbs."""
    directory = folder / "hours"
    if not directory.exists():
        template = real_template(folder)
        started = time.monotonic()
        write_journal(directory, template, activations)
        size = (directory / JOURNAL).stat().st_size
        print(f"journal: {size / 1e6:.0f} MB in {time.monotonic() - started:.0f} s", flush=True)
    print(f"{'verb':20} {'wall':>8} {'CPU':>8} {'peak memory':>12}")
    if (directory / JOURNAL).exists():
        _print("finish", run("finish", str(directory)))
    if not (folder / "other").exists():
        another(directory, folder / "other")
    for name, command in verbs(directory, folder / "other").items():
        _print(name, run(*command))
    page, samples = directory / "report.html", directory / SAMPLES
    rows = sum(account.seen + account.overrun for account in _manifest(directory).cpus)
    print(f"{rows:,} activations, {samples.stat().st_size / rows:.2f} bytes each in {SAMPLES}; "
          f"page {page.stat().st_size / 1e6:.2f} MB")  # fmt: skip


def _manifest(directory: Path) -> Manifest:
    return msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest)


def _print(name: str, took: Took) -> None:
    print(f"{name:20} {took.wall_s:6.1f} s {took.cpu_s:6.1f} s {took.peak_mib:8.0f} MiB",
          flush=True)  # fmt: skip


def resident_mib(pid: int) -> float:
    """Return what a process has in memory; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    sizes = [int(line.split()[1]) for line in lines if line.startswith("VmRSS:")]
    return sizes[0] / 1024 if sizes else 0.0


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below a process."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def real(folder: Path, duration: str, interval: str) -> None:
    """Measure, and look at the memory of host and probe meanwhile."""
    directory = folder / "real"
    command = ("-m", "whylate", "measure", "local", "--for", duration, "--interval", interval)
    process = subprocess.Popen(
        [sys.executable, *command, "-o", str(directory), "--json"], stdout=subprocess.DEVNULL
    )
    while not (directory / JOURNAL).exists():
        if process.poll() is not None:
            sys.exit(f"whylate measure failed with status {process.returncode}")
        time.sleep(0.1)
    began = time.monotonic()
    planned_s = (parse_ns(duration, latency=False) or 0) / 1e9
    looks: list[tuple[float, float, float]] = []
    for look in itertools.count():
        at_s = time.monotonic() - began
        # Behind the run the host reads its journal: that is another verb.
        if process.poll() is not None or at_s > planned_s:
            break
        probe = sum(resident_mib(child) for child in descendants(process.pid))
        looks.append((at_s, resident_mib(process.pid), probe))
        time.sleep(max(0.0, began + (look + 1) * _LOOK_S - time.monotonic()))
    process.wait()
    at_s, host, probe_mib = np.array([look for look in looks if look[0] >= _WARM_UP_S]).T
    journal = (directory / SAMPLES).stat().st_size
    print(f"{duration} at {interval}: {len(looks)} looks, {SAMPLES} {journal / 1e6:.1f} MB")
    for name, mib in (("host", host), ("probe", probe_mib)):
        slope = np.polyfit(at_s / 3600, mib, 1)[0] if len(at_s) > 2 else float("nan")
        print(f"{name}: {mib.min():.1f} to {mib.max():.1f} MiB, range {np.ptp(mib):.1f} MiB, "
              f"slope {slope:+.2f} MiB/h")  # fmt: skip


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    """Make or measure the recording, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--activations", type=lambda text: int(float(text)), default=150_000_000)
    parser.add_argument("--keep", type=Path, help="make the recordings there, and keep them")
    parser.add_argument("--real", action="store_true", help="measure this machine instead")
    parser.add_argument("--for", dest="duration", default="2h")
    parser.add_argument("--interval", default="100us")
    options = parser.parse_args()
    with _folder(options.keep) as folder:
        if options.real:
            real(folder, options.duration, options.interval)
        else:
            made_up(folder, options.activations)


if __name__ == "__main__":
    main()
