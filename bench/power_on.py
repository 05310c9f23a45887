"""How long a virtual board takes from power-on to its results, booted or resumed from a snapshot.

`python bench/power_on.py [--rounds 10] [--beside SRC --lab DIR]`

Each command measures a board that is off for 100 ms. In each round all run once, in random order.
Printed are the median wall time and CPU time, QEMU's included, and the ratios of pairs. A run that
did not come up as it should is an error, and so are runs in virtual time that differ. SRC is the
directory `src` of another version, with a copy DIR of the lab's cache: two versions would make the
images of one cache in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ratios import paired_ratio

ROOT = Path(__file__).resolve().parents[1]
BOARDS = ("pc", "virt-arm64")


@dataclass(frozen=True)
class Way:
    """A way to come up. options: of `measure`; came_up: what the recording must say, or ""."""

    name: str
    options: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    came_up: str


VIRTUAL = ("--virtual-time", "--smp", "1")
BOOTED = Way(
    "virtual time, booted",
    VIRTUAL,
    (("WHYLATE_SNAPSHOTS", "0"),),
    "resumed from a snapshot of its own",
)
RESUMED = Way("virtual time, resumed", VIRTUAL, (), "resumed from a snapshot")
REAL = Way("real time", (), (), "")
WAYS = (BOOTED, RESUMED, REAL)


@dataclass(frozen=True)
class Taken:
    """What a command took, in seconds."""

    wall_s: float
    cpu_s: float


#: A board, how it comes up, and whether the other version does that.
Turn = tuple[str, Way, bool]


def main() -> None:
    """Run all in interleaved rounds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--beside", type=Path, metavar="SRC")
    parser.add_argument("--lab", type=Path, metavar="DIR")
    options = parser.parse_args()
    turns = [(board, way, False) for board in BOARDS for way in WAYS]
    if options.beside:
        turns += [(board, way, True) for board in BOARDS for way in (BOOTED, REAL)]
    other = {"PYTHONPATH": str(options.beside.resolve())} if options.beside else {}
    other |= {"WHYLATE_LAB": str(options.lab.resolve())} if options.lab else {}
    taken = take_rounds(turns, options.rounds, other)
    version = str(options.beside)
    show_table(taken, version)
    for board in BOARDS:
        show_ratio("", taken, (board, RESUMED, False), (board, BOOTED, False))
        if options.beside:
            show_ratio(version, taken, (board, RESUMED, False), (board, BOOTED, True))
            show_ratio(version, taken, (board, REAL, False), (board, REAL, True))


def take_rounds(turns: list[Turn], rounds: int, other: dict[str, str]) -> dict[Turn, list[Taken]]:
    """Return what each turn took in each round; exits where one is not what it should be."""
    taken: dict[Turn, list[Taken]] = {turn: [] for turn in turns}
    samples: dict[tuple[str, bool], set[str]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(rounds + 1):
            for turn in random.sample(turns, len(turns)):
                board, way, is_other = turn
                output = Path(directory) / f"{number}-{turns.index(turn)}"
                took = measured(board, way, output, other if is_other else {})
                manifest = json.loads((output / "manifest.json").read_text())
                if way is not REAL:
                    samples.setdefault((board, is_other), set()).add(manifest["samples_sha256"])
                facts = {fact["name"]: fact["value"] for fact in manifest["facts"]}
                if not is_other and facts.get("came up", "") != way.came_up:
                    sys.exit(f"{board}, {way.name}: it came up {facts.get('came up')!r}")
                # The first round makes images and snapshots.
                if number:
                    taken[turn].append(took)
    for (board, _), digests in samples.items():
        if len(digests) != 1:
            sys.exit(f"{board}: runs in virtual time differ")
    return taken


def show_table(taken: dict[Turn, list[Taken]], version: str) -> None:
    """Print the medians."""
    print("| board | | wall time, s | CPU time, s |\n|---|---|---|---|")
    for turn in sorted(taken, key=lambda turn: (turn[0], turn[2], turn[1].name)):
        board, way, is_other = turn
        wall_s = statistics.median(took.wall_s for took in taken[turn])
        cpu_s = statistics.median(took.cpu_s for took in taken[turn])
        name = f"{way.name}, {version}" if is_other else way.name
        print(f"| {board} | {name} | {wall_s:.2f} | {cpu_s:.2f} |")


def measured(board: str, way: Way, output: Path, environment: dict[str, str]) -> Taken:
    """Measure a board that is off; raises CalledProcessError."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "whylate", "measure", board, "--for", "100ms", *way.options,
         "-o", str(output)],
        env={**os.environ, **environment, **dict(way.environment)},
        stdin=subprocess.DEVNULL, capture_output=True, check=True,
    )  # fmt: skip
    wall_s, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall_s, cpu_s)


def show_ratio(version: str, taken: dict[Turn, list[Taken]], these: Turn, those: Turn) -> None:
    """Print the ratios of two ways, of the wall time and of the CPU time."""
    for kind in ("wall_s", "cpu_s"):
        ours = [getattr(took, kind) for took in taken[these]]
        theirs = [getattr(took, kind) for took in taken[those]]
        name = f"{these[0]}, {kind}: {these[1].name} / {those[1].name} {version}"
        print(f"{name}: × {paired_ratio(ours, theirs)}")


if __name__ == "__main__":
    main()
