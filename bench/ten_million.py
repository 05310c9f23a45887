"""Summary and report of a recording with ten million activations: time and memory.

`python bench/ten_million.py [--rows 10000000]`

Latencies and stages are made up (log-normal body, heavy tail, stalls with overruns), the manifest
is that of a short real run with its counts put right; what is timed is `whylate report` as a
process, three times.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from timed_process import run, summed_up
from whylate.boards.local import LocalBoard
from whylate.recording.manifest import MANIFEST, Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.store.samples import NAME, samples_writer
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.wire.samples import Rows

INTERVAL_NS = 1_000_000


def made_up(chance: np.random.Generator, rows: int) -> Rows:
    """Return the rows of one CPU: in stalls, latencies above the interval have overruns."""
    latency = chance.lognormal(np.log(5_000), 0.2, rows).astype(np.int64)
    late = chance.random(rows) < 2e-3
    latency[late] += (12_000 * chance.pareto(4, int(late.sum()))).astype(np.int64)
    overrun = np.zeros(rows, bool)
    for start in chance.integers(0, rows - 40, rows // 100_000):
        stall = np.arange(30)
        latency[start + stall] = 30_500_000 - stall * INTERVAL_NS
        overrun[start + 1 : start + 30] = True
    return Rows(np.arange(rows, dtype=np.int64), latency, overrun)


def stages_of(rows: Rows) -> NDArray[np.int64]:
    """Return the stages of those that are no overruns: parts of the latency."""
    seen = rows.latency_ns[~rows.overrun]
    return np.stack([seen * 3 // 10, seen * 4 // 10, seen * 9 // 10], axis=1)


def real_run(directory: Path) -> Manifest:
    """Make a short run, whose manifest the recordings have."""
    request = RunPlan(workload=Wakeup(duration_ns=1_000_000_000, interval_ns=INTERVAL_NS))
    return measure(LocalBoard(), request, directory, Quiet())


def make_recording(directory: Path, rows: int, manifest: Manifest, seed: int = 1) -> None:
    """Make the recording."""
    directory.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(seed)
    each = rows // len(manifest.cpus)
    accounts = []
    with samples_writer(directory) as writer:
        for account in manifest.cpus:
            made = made_up(chance, each)
            writer.rows(account.cpu, made, stages_of(made))
            overruns = int(made.overrun.sum())
            accounts.append(
                msgspec.structs.replace(
                    account,
                    end_ns=account.start_ns + each * INTERVAL_NS,
                    expected=each,
                    seen=each - overruns,
                    overrun=overruns,
                    dropped=0,
                )
            )
    workload = msgspec.structs.replace(manifest.plan.workload, duration_ns=each * INTERVAL_NS)
    plan = msgspec.structs.replace(manifest.plan, workload=workload)
    # The digest is of the real run's samples: by it all that are made of one would be one run.
    manifest = msgspec.structs.replace(manifest, cpus=accounts, plan=plan, samples_sha256=None)
    (directory / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    assert msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest) == manifest


def main() -> None:
    """Make the recording, report on it three times, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "r"
        make_recording(directory, options.rows, real_run(directory))
        size = (directory / NAME).stat().st_size
        print(f"{options.rows} activations, {size / options.rows:.2f} bytes each in {NAME}")
        took = [run("report", str(directory), "--json") for _ in range(3)]
        page = (directory / "report.html").stat().st_size
        print(f"summary and report: {summed_up(took)}, page {page / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
