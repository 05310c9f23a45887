"""What the examples share: they run whylate as anybody would, and read the JSON that it prints.

Every story ends with its claims: what was published, what was seen here, and whether that shows
the same.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

from whylate.stats.comparison.shifts import median_interval

Reproduced = Literal["yes", "no", "cannot be told here"]

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


@dataclass(frozen=True)
class Claim:
    """One claim of a published text. why: what decides, or what is missing here."""

    claim: str
    seen: str
    reproduced: Reproduced
    why: str


def refused(claim: str, why: str) -> Claim:
    """Return a claim without a figure: what was to be tried was not applied, or not shown."""
    return Claim(claim, "no figure", "cannot be told here", why)


@dataclass(frozen=True)
class Story:
    """A story that is being told. out: for what is measured; quick: whether it is to be quick.

    result: where the claims go as JSON; None where they are only printed.
    """

    name: str
    out: Path
    quick: bool
    result: TextIO | None

    def end(self, *claims: Claim) -> None:
        """Print the claims, and write them as story.json beside what was measured."""
        for claim in claims:
            print(flush=True)
            _say_under("claim", claim.claim)
            _say_under("seen here", claim.seen)
            _say_under("reproduced", f"{claim.reproduced}: {claim.why}")
        document = {"story": self.name, "claims": [asdict(claim) for claim in claims]}
        text = json.dumps(document, indent=2, ensure_ascii=False)
        (self.out / "story.json").write_text(f"{text}\n")
        if self.result is not None:
            print(text, file=self.result)


@contextmanager
def telling(doc: str) -> Iterator[Story]:
    """Read the command line of a story and yield it.

    doc: the story's own docstring, whose first line is its name and the words of --help.
    """
    name = doc.splitlines()[0].rstrip(".")
    parser = argparse.ArgumentParser(description=name)
    parser.add_argument("--out", type=Path, help="keep what is measured here")
    parser.add_argument("--quick", action="store_true", help="measure less: wider intervals")
    parser.add_argument("--json", action="store_true", help="print the claims as JSON, no text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = (options.out or Path(folder)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        stdout = sys.stdout
        with redirect_stdout(sys.stderr if options.json else stdout):
            yield Story(name, out, options.quick, stdout if options.json else None)


def whylate(*words: str | Path) -> dict[str, Any]:
    """Run whylate, show the command, and return what it printed; it must not fail."""
    result: dict[str, Any] = json.loads(run_whylate(*words, "--json"))
    return result


def run_whylate(*words: str | Path) -> str:
    """Run whylate, show the command as a user types it, and return its output; it must not fail."""
    output = [str(word) for word in words]
    shown = shlex.join(_shown(word) for word in output if word != "--json")
    print(f"$ whylate {shown}", flush=True)
    return _run(output)


def _run(words: list[str]) -> str:
    # As make takes CC: another whylate may be named.
    command = shlex.split(os.environ.get("WHYLATE", "")) or [sys.executable, "-m", "whylate"]
    done = subprocess.run([*command, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in _READABLE:
        sys.exit(f"whylate {words[0]} ended with status {done.returncode}")
    return done.stdout


def _shown(word: str) -> str:
    """Return a word of a command as a reader would type it: paths from here on."""
    here = f"{Path.cwd()}/"
    return word.removeprefix(here)


def say(text: str) -> None:
    """Print a paragraph."""
    print(textwrap.fill(" ".join(text.split()), 88), flush=True)


def _say_under(label: str, text: str) -> None:
    """Print a paragraph with a label in front of it."""
    print(
        textwrap.fill(
            " ".join(text.split()), 88, initial_indent=f"{label:12}", subsequent_indent=" " * 12
        ),
        flush=True,
    )


def median(values: list[float]) -> Interval:
    """Return the median of independent values with its 95 % interval."""
    estimate = median_interval(values)
    return Interval(estimate.value, estimate.low, estimate.high)


def judge(seen: Interval, published: float, *, size: bool = True) -> tuple[Reproduced, str]:
    """Return whether a ratio seen here shows a published one, and what decides.

    size: the published ratio is to lie in the interval; else only its direction counts, because it
    is of something else.
    """
    low, high = seen.low, seen.high
    if low is None or high is None:
        return "cannot be told here", "too few runs for an interval"
    if low <= 1 <= high:
        if low <= published <= high or not size:
            return "cannot be told here", "the interval holds no change as well"
        return "no", f"the interval holds no change, and not the published × {number(published)}"
    if (seen.value < 1) != (published < 1):
        return "no", "it goes the other way"
    if not size:
        return "yes", "the whole interval lies on that side of no change"
    if low <= published <= high:
        return "yes", f"the interval holds the published × {number(published)}, and not no change"
    more = abs(seen.value - 1) > abs(published - 1)
    return "no", (
        f"it goes the same way, and {'further' if more else 'less far'} than the published × "
        f"{number(published)}"
    )


def interval(result: dict[str, Any]) -> Interval:
    """Return a figure as whylate prints it: value, low, high."""
    return Interval(result["value"], result["low"], result["high"])


def points(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the points of a run by their names."""
    return {item["name"]: item for item in document["points"]}


def ratios(document: dict[str, Any]) -> dict[str, Interval]:
    """Return what a study of two variants found: ratios to the first, by statistic."""
    (by_name,) = ratios_of(document).values()
    return by_name


def ratios_of(document: Mapping[str, Any]) -> dict[str, dict[str, Interval]]:
    """Return ratios to a study's first variant, by variant and statistic."""
    return {
        item["key"]["variant"]: {
            row["name"]: Interval(row["ratio"], row["low"], row["high"])
            for row in item["comparison"]["statistics"]
            if row["ratio"] is not None
        }
        for item in document["comparisons"]
    }


def study_runs(directory: Path) -> list[dict[str, Any]]:
    """Return the runs of a study that did not fail: variant, round and its report as JSON."""
    lines = map(json.loads, (directory / "runs.jsonl").read_text().splitlines())
    return [
        {
            "variant": line["variant"],
            "round": line["round"],
            "report": _report(directory / line["recording"]),
        }
        for line in lines
        if not line["failed"]
    ]


def _report(recording: Path) -> dict[str, Any]:
    """Return the summary of a recording."""
    result: dict[str, Any] = json.loads(_run(["report", str(recording), "--json"]))
    return result
