"""How near does the tuner of remedies/bulk_work.h come to the best of a sweep?

`python bench/bulk_tuner.py [--boards local,pc,virt-arm64] [--rounds 12] [--no-shapes]`

The best of a sweep is the chunk with the least median latency among those whose work takes at
most 15 % longer than in the largest chunk. The tuner's choice is to come within 10 % of its
latency, with work that takes at most 15 % longer: on boards, by `whylate bench bulk` (on virtual
boards in virtual time), and on
simulated machines (bulk_shapes.c) whose items do not all cost the same. There it chooses 20 times,
and the worst of these is shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_COST, MOST_RATIO = 0.15, 1.10
#: Of virtual boards: in it nothing varies, and in real time their costs are the host's.
_VIRTUAL_TIME = ["--virtual-time", "--smp", "1", "--rounds", "1", "--block", "60ms"]
#: The exit status of a run of which a point was refused.
_NO_VERDICT = 3
CHUNKS = "1,4,16,32,64,96,128,192,256,384,512,768,1024,1536,2048,4096,8192,all,tuned"


@dataclass(frozen=True)
class Chunk:
    """A chunk, and what it brings. cost: how much longer the work takes, as a part."""

    items: int
    p50_ns: float
    cost: float


@dataclass(frozen=True)
class Outcome:
    """The tuner's choice on a machine beside the best of the sweep."""

    machine: str
    best: Chunk
    tuned: Chunk
    #: Of so many choices those that keep the bar.
    kept: int = 0
    tunings: int = 1

    @property
    def ratio(self) -> float:
        """The tuner's latency over the best."""
        return self.tuned.p50_ns / self.best.p50_ns

    @property
    def holds(self) -> bool:
        """Whether the bar is kept."""
        return self.ratio <= MOST_RATIO and self.tuned.cost <= MOST_COST

    def row(self) -> str:
        """Return a row of Markdown."""
        best, tuned = self.best, self.tuned
        return (
            f"| {self.machine} | {best.items} | {best.p50_ns / 1e3:.3g} µs | {best.cost:.1%} | "
            f"{tuned.items} | {tuned.p50_ns / 1e3:.3g} µs | {tuned.cost:.1%} | × {self.ratio:.2f} |"
            f" {self.kept} of {self.tunings} |"
        )


def outcome(machine: str, swept: Sequence[Chunk], tuned: Sequence[Chunk]) -> Outcome:
    """Return the worst of the tuner's choices beside the best of a sweep."""
    cheap = [chunk for chunk in swept if chunk.cost <= MOST_COST]
    best = min(cheap, key=lambda chunk: chunk.p50_ns)
    outcomes = [Outcome(machine, best, chunk) for chunk in tuned]
    worst = max(
        outcomes, key=lambda made: max(made.ratio / MOST_RATIO, made.tuned.cost / MOST_COST)
    )
    return replace(worst, kept=sum(made.holds for made in outcomes), tunings=len(outcomes))


def simulated() -> Iterator[Outcome]:
    """Yield an outcome for each simulated machine."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "shapes"
        subprocess.run(
            ["cc", "-std=gnu11", "-O2", f"-I{HERE.parent / 'remedies'}", HERE / "bulk_shapes.c",
             "-lm", "-o", program],
            check=True,
        )  # fmt: skip
        text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    machines: dict[str, list[list[str]]] = defaultdict(list)
    for line in text.splitlines():
        name, *figures = line.split("\t")
        machines[name].append(figures)
    for name, rows in machines.items():
        base = float(next(row[2] for row in reversed(rows) if row[3] == "0"))
        made = [
            (Chunk(int(row[0]), float(row[1]), float(row[2]) / base - 1), row[3]) for row in rows
        ]
        swept, tuned = ([chunk for chunk, kind in made if kind == which] for which in "01")
        yield outcome(f"simulated: {name}", swept, tuned)


def measured(board: str, rounds: int) -> Outcome:
    """Measure a board; raises RuntimeError where that fails, or gives the tuner no figure."""
    with tempfile.TemporaryDirectory() as directory:
        words = ["bench", "bulk", board, "--json", "--chunk", CHUNKS, "--repetitions", "1",
                 "-o", f"{directory}/r"]  # fmt: skip
        words += (
            ["--rounds", str(rounds), "--block", "100ms"] if board == "local" else _VIRTUAL_TIME
        )
        done = subprocess.run(
            [sys.executable, "-m", "whylate", *words], check=False, capture_output=True, text=True
        )
    if done.returncode not in (0, _NO_VERDICT):
        raise RuntimeError(f"{board}: {done.stderr[-300:]}")
    swept, tuned = [], []
    for point in json.loads(done.stdout)["points"]:
        if "refused" in point:
            print(f"{board}, {point['name']}: {point['refused']}", file=sys.stderr)
            continue
        cost = point.get("more_work", {"value": 0.0})["value"]
        chunk = Chunk(int(point["chunk"]), point["p50_ns"]["value"], cost)
        if point["name"].startswith("the tuner"):
            tuned.append(chunk)
        else:
            swept.append(chunk)
    if not tuned:
        raise RuntimeError(f"{board}: the tuner's chunk has no figure")
    return outcome(board, swept, tuned)


def main() -> None:
    """Print a row for each machine, and whether the bar is kept on all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", default="local,pc,virt-arm64", help="with commas; '': none")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--no-shapes", action="store_true", help="no simulated machines")
    options = parser.parse_args()
    print("| machine | best of the sweep | median | longer work | tuner | median | longer work | |"
          " kept |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    outcomes = []
    for board in filter(None, options.boards.split(",")):
        outcomes.append(measured(board, options.rounds))
        print(outcomes[-1].row(), flush=True)
    for made in [] if options.no_shapes else simulated():
        outcomes.append(made)
        print(made.row(), flush=True)
    print(f"\nalways kept on {sum(made.holds for made in outcomes)} of {len(outcomes)} machines")


if __name__ == "__main__":
    main()
