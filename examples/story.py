"""What the examples share: they run whylate as anybody would, and read the JSON that it prints."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: Exit statuses of whylate with which there is something to read: a run without a verdict too.
_READABLE = (0, 3)


@dataclass(frozen=True)
class Interval:
    """A figure with its interval; low and high are None where there is none."""

    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Write it: 2.09 [1.98, 2.20]."""
        if self.low is None or self.high is None:
            return number(self.value)
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"


def number(value: float) -> str:
    """Write a figure with three digits, or all before the point: 0.48, 32.6, 4,221."""
    if abs(value) < 1e-6:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


@contextmanager
def telling(story: str) -> Iterator[tuple[Path, bool]]:
    """Return a directory for what is measured, and whether it is to be quick, as a user wants it.

    story: the words of --help.
    """
    parser = argparse.ArgumentParser(description=story)
    parser.add_argument("--out", type=Path, help="keep what is measured here")
    parser.add_argument("--quick", action="store_true", help="measure less: wider intervals")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        yield out, options.quick


def whylate(*words: str | Path) -> dict[str, Any]:
    """Run whylate, show the command, and return what it printed; it must not fail."""
    output = [str(word) for word in words]
    print(f"$ whylate {shlex.join(_shown(word) for word in output)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "whylate", *output, "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in _READABLE:
        sys.exit(f"whylate ended with status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _shown(word: str) -> str:
    """Return a word of a command as a reader would type it: paths from here on."""
    here = f"{Path.cwd()}/"
    return word.removeprefix(here)


def say(text: str) -> None:
    """Print a paragraph."""
    print(textwrap.fill(" ".join(text.split()), 88), flush=True)


def interval(result: dict[str, Any]) -> Interval:
    """Return a figure as whylate prints it: value, low, high."""
    return Interval(result["value"], result["low"], result["high"])


def points(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the points of a run by their names."""
    return {item["name"]: item for item in document["points"]}


def ratios(document: dict[str, Any]) -> dict[str, Interval]:
    """Return what a study found of its second variant: ratios to the first, by statistic."""
    (item,) = document["comparisons"]
    return {
        row["name"]: Interval(row["ratio"], row["low"], row["high"])
        for row in item["comparison"]["statistics"]
        if row["ratio"] is not None
    }


def typical(document: dict[str, Any]) -> dict[str, float]:
    """Return the typical values of a study's first variant, by statistic."""
    (item,) = document["comparisons"]
    return {row["name"]: row["first"] for row in item["comparison"]["statistics"]}
