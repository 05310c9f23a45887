"""Comparing 2 x 30 recordings of a million activations: time and memory.

`python bench/sixty_recordings.py [--runs 30] [--rows 1000000]`

Latencies are made up as those of ten_million.py are, and the manifests are those of a short real
run, as if the runs had been made in turns; what is timed is `whylate compare` as a process, three
times.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from ten_million import make_recording, real_run
from timed_process import run, summed_up


def main() -> None:
    """Make the recordings, compare them three times, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        manifest = real_run(Path(folder) / "real")
        began = datetime.fromisoformat(manifest.created)
        for number in range(2 * options.runs):
            created = (began + timedelta(hours=number)).isoformat()
            directory = Path(folder) / "AB"[number % 2] / f"{number:03d}"
            own = msgspec.structs.replace(manifest, created=created)
            make_recording(directory, options.rows, own, number)
        took = [run("compare", f"{folder}/A", f"{folder}/B", "--json") for _ in range(3)]
        print(
            f"2 x {options.runs} recordings of {options.rows:,} activations compared: "
            f"{summed_up(took)}"
        )


if __name__ == "__main__":
    main()
