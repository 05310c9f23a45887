"""Is the commit that `whylate bisect commits` names the right one, on a virtual board?

`python bench/real_histories.py [--seeds 10] [--board pc] [--first 0]`

Each seed has a repository of its own (made_repository.py): 72 commits with merges and an interval
that does not compile, in which one commit makes a program take 6 % longer, while its runs differ by
2 %. Each commit is built here and run on the board in virtual time. A seed takes a few minutes on
one CPU. Interrupted, it goes on where it was: all is in build/bench/real_histories.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from made_repository import MadeRepository, build_command, make_repository

DIRECTORY = Path("build/bench/real_histories")
#: Board -> the compiler for it.
COMPILERS = {"pc": "cc", "virt-arm64": "aarch64-linux-gnu-gcc"}
PLAN = """\
boards = ["{board}"]
virtual_time = true
[cmd]
command = ["/usr/bin/work"]
rounds = 1
"""


def main() -> int:
    """Bisect each seed's repository; return 1 unless all answers are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--board", choices=sorted(COMPILERS), default="pc")
    options = parser.parse_args()
    rows = []
    for seed in range(options.first, options.first + options.seeds):
        rows.append(bisect(options.board, seed))
        print(rows[-1]["text"], flush=True)
    right = sum(bool(row["right"]) for row in rows)
    for name in ("runs", "fresh runs", "builds", "wall"):
        values = [row[name] for row in rows]
        print(f"{name}: median {statistics.median(values):.0f}, most {max(values):.0f}")
    print(f"{right} of {len(rows)} seeds: the right commit, confirmed")
    return int(right < len(rows))


def bisect(board: str, seed: int) -> dict[str, Any]:
    """Bisect the repository of a seed, or read what was done already."""
    folder = (DIRECTORY / board / str(seed)).absolute()
    repository = remade(folder / "repository", seed)
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(board=board))
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "whylate", "bisect", "commits", repository.good, repository.bad,
         plan, "--repository", repository.path, "--build", build_command(COMPILERS[board]),
         "--put", "work:/usr/bin/work", "--statistic", "CPU time", "-o", folder / "bisection",
         "--json"],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)
    document: dict[str, Any] = json.loads(done.stdout)
    with (folder / "wall").open("a") as file:
        file.write(f"{time.monotonic() - began:.1f}\n")
    wall_s = sum(map(float, (folder / "wall").read_text().split()))
    return row_of(seed, repository, document, wall_s)


def remade(path: Path, seed: int) -> MadeRepository:
    """Return the repository of a seed, which is the same each time that it is made."""
    shutil.rmtree(path, ignore_errors=True)
    return make_repository(path, seed)


def row_of(
    seed: int, repository: MadeRepository, document: dict[str, Any], wall_s: float
) -> dict[str, Any]:
    """Return the figures of a seed, and a line of them."""
    steps = document["steps"]
    kinds = [step["kind"] for step in steps]
    confirmation = document.get("confirmation") or {}
    right = document.get("commits") == [repository.culprit] and bool(confirmation.get("confirmed"))
    tried = {step["version"] for step in steps}
    runs = kinds.count("run")
    fresh = len(kinds) - runs - kinds.count("unbuildable") - kinds.count("same")
    text = (
        f"seed {seed}: {'right' if right else 'WRONG'}, {document['answer']}, probability "
        f"{document.get('probability', 0):.3f}, {repository.commits} commits, {repository.merges} "
        f"merges, {repository.unbuildable} do not compile; {runs} runs and {fresh} fresh ones, "
        f"{len(tried)} builds of which {kinds.count('unbuildable')} failed, {wall_s / 60:.1f} min"
    )
    return {
        "right": right, "runs": runs, "fresh runs": fresh, "builds": len(tried), "wall": wall_s,
        "text": text,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
