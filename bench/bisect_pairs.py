"""Does `whylate bisect images` find what makes the difference of pairs of roots?

`make bench-bisect_pairs ARGS='--seeds 5 --out build/pairs'`

Each pair is made once, and searched with each seed on a virtual board in virtual time. A search
that was interrupted goes on; one that is over is not made again. For each search the table has the
answer, what was named, whether that is right, the runs, how many of them were untestable, and the
sum of the times that they took. Five seeds of each pair take hours: --pair and --seeds choose.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whylate.lab.pairs.make import make_pair


@dataclass(frozen=True)
class Case:
    """A pair as it is searched. right: a text in the name of each culprit, or the answers of none.

    name: of the directory of its searches. options: of the search.
    """

    pair: str
    board: str
    command: str
    right: tuple[tuple[str, ...], ...] = ()
    answers: tuple[str, ...] = ("no gap", "gap too small")
    name: str = ""
    options: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """How the case is called."""
        return self.name or self.pair


CASES = (
    Case("one-line", "virt-arm64", "dd if=/dev/zero of=/dev/null bs=32M count=1",
         (("etc/rc.local", "transparent_hugepage"),)),
    Case("two-settings", "pc", "/usr/bin/copy",
         (("etc/rc.local", "transparent_hugepage"), ("etc/default/copy", "GLIBC_TUNABLES"))),
    Case("nothing", "virt-arm64", "dd if=/dev/zero of=/dev/null bs=32M count=1"),
    Case("one-line", "virt-arm64", "dd if=/dev/zero of=/dev/null bs=32M count=1",
         answers=("not among the differences",), name="kept", options=("--keep", "etc/rc.local")),
)  # fmt: skip
PLAN = """\
boards = ["{case.board}"]
virtual_time = true
seed = {seed}

[cmd]
command = "{case.command}"
rounds = 1
"""


def names_of(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the culprits, each with its value on both sides."""
    values = {each["difference"]: each for each in document["differences"]}
    names = [culprit["difference"] for culprit in document.get("culprits", [])]
    return [
        f"`{name}: {_words(values[name]['first'])} -> {_words(values[name]['second'])}`"
        for name in names
    ]


def _words(value: str | None) -> str:
    return "absent" if value is None else " ".join(value.split())


def is_right(case: Case, document: Mapping[str, Any]) -> bool:
    """Whether exactly what was built in was named; of no difference, that there is none."""
    names = names_of(document)
    if not case.right:
        return document["answer"] in case.answers
    return len(names) == len(case.right) and all(
        any(all(text in name for text in texts) for name in names) for texts in case.right
    )


def search(case: Case, seed: int, out: Path, words: Sequence[str]) -> dict[str, Any]:
    """Search a pair, or read the search that is over; return its document."""
    directory = out / case.called / f"seed-{seed}"
    answer = directory / "answer.json"
    if answer.exists():
        kept: dict[str, Any] = json.loads(answer.read_text())
        return kept
    directory.mkdir(parents=True, exist_ok=True)
    plan = directory / "plan.toml"
    plan.write_text(PLAN.format(case=case, seed=seed))
    roots = [out / case.pair / f"{side}.tar" for side in ("vendor", "ours")]
    command = ["bisect", "images", *map(str, [*roots, plan]), "--statistic", "wall time", "--json",
               "-o", str(directory / "bisection"), *case.options, *words]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "whylate", *command], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in (0, 3):
        sys.exit(f"{case.called}, seed {seed}: the search ended with status {done.returncode}")
    document: dict[str, Any] = json.loads(done.stdout)
    if document["answer"] is not None:
        answer.write_text(done.stdout)
    return document


def row_of(case: Case, seed: int, document: Mapping[str, Any]) -> str:
    """Return a line of the table."""
    runs = document["runs"]
    untestable = sum(run["value"] is None for run in runs)
    minutes = sum(run["took_s"] for run in runs) / 60
    right = "yes" if document["answer"] and is_right(case, document) else "no"
    named = "; ".join(names_of(document)) or "–"
    return (
        f"| {case.called} | {seed} | {document['answer']} | {named} | {right} | {len(runs)} | "
        f"{untestable} | {minutes:.0f} min |"
    )


def main() -> None:
    """Search each pair with each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/pairs"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pair", action="append", choices=[case.called for case in CASES])
    parser.add_argument("--runs", type=int, default=256)
    options = parser.parse_args()
    print("| pair | seed | answer | named | right | runs | untestable | took |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if options.pair and case.called not in options.pair:
            continue
        directory = options.out / case.pair
        if not (directory / "ours.tar").exists():
            make_pair(case.pair, directory, lambda _: None)
        for seed in range(1, options.seeds + 1):
            document = search(case, seed, options.out, ["--runs", str(options.runs)])
            print(row_of(case, seed, document), flush=True)


if __name__ == "__main__":
    main()
