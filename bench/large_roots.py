"""Listing the differences of two roots of 120,000 files: time and memory.

`python bench/large_roots.py [--files 120000]`

The files are small and alike, and one in a hundred differs. Each root is read as a directory, as a
tarball and as an ext4 image; what is timed is `whylate bisect diff` as a process, three times.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from timed_process import run, summed_up

_IN_FOLDER = 300


def main() -> None:
    """Make both roots, list their differences, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=120_000)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side in ("fast", "slow"):
            make_root(folder / side, files, side)
            tar: list[str | Path] = [
                "tar",
                "-C",
                folder / side,
                "-czf",
                folder / f"{side}.tar.gz",
                ".",
            ]
            subprocess.run(tar, check=True)
            image: list[str | Path] = [
                "/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", folder / side,
                "-N", str(files * 5 // 4), folder / f"{side}.ext4", f"{files // 150}M",
            ]  # fmt: skip
            subprocess.run(image, check=True, capture_output=True)
        for suffix in ("", ".tar.gz", ".ext4"):
            sides = [f"{folder}/{side}{suffix}" for side in ("fast", "slow")]
            took = [run("bisect", "diff", *sides) for _ in range(3)]
            print(f"2 x {files:,} files, {suffix or 'directories'}: {summed_up(took)}")


def make_root(root: Path, files: int, side: str) -> None:
    """Write files in folders, of which every hundredth has the name of the side in it."""
    for number in range(files):
        at, place = divmod(number, _IN_FOLDER)
        folder = root / f"d{at % 20}" / f"s{at}"
        if place == 0:
            folder.mkdir(parents=True)
        text = f"file {number} {side if number % 100 == 0 else ''}\n"
        (folder / f"f{place}").write_text(text * 20)


if __name__ == "__main__":
    main()
