"""The two sides of a comparison, as they stand on the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from whylate.compare.runs import Arm

_BETWEEN = ":"
_MARGIN = re.compile(r"(p50|p99|p99\.9|p99\.99):(\d{1,3}(?:\.\d{1,3})?)\s*%")
#: More recordings than this are no side of a comparison.
_MOST_RUNS = 1000


def sides_of(words: Sequence[str]) -> tuple[Arm, Arm]:
    """Read A and B; raises click.UsageError, and RecordingError for what is no recording."""
    from whylate.compare.runs import Arm, read_run

    if words.count(_BETWEEN) == 1:
        cut = list(words).index(_BETWEEN)
        sides = words[:cut], words[cut + 1 :]
    elif len(words) == 2 and _BETWEEN not in words:
        sides = words[:1], words[1:]
    else:
        raise click.UsageError(
            "name two sides: A B, or several runs with a colon between: A1 A2 : B1 B2"
        )
    if not all(sides):
        raise click.UsageError("one side of the colon is empty")
    arms = []
    for side in sides:
        found = [one for word in side for one in _recordings(Path(word))]
        name = side[0] if len(side) == 1 else f"{Path(side[0]).name} … {Path(side[-1]).name}"
        arms.append(Arm(name, tuple(read_run(one) for one in found)))
    return arms[0], arms[1]


def _recordings(path: Path) -> list[Path]:
    """Return a recording, or those in a directory; none that is no recording is passed over."""
    if not path.is_dir() or (path / "manifest.json").exists():
        return [path]
    inside = sorted(one for one in path.iterdir() if one.is_dir())
    found = [one for one in inside if any(one.glob("manifest.json")) or any(one.glob("*journal*"))]
    if len(found) > _MOST_RUNS:
        raise click.UsageError(f"{path} has more than {_MOST_RUNS} recordings")
    return found or [path]


def margins_of(texts: Sequence[str]) -> dict[str, float]:
    """Read margins; raises click.UsageError. "p50:10%" is {"p50": 1.1}."""
    found = {}
    for text in texts:
        match = _MARGIN.fullmatch(text.strip())
        if match is None:
            raise click.UsageError(
                f"{text!r} is no margin: write p50:10%, p99:10%, p99.9:20% or p99.99:30%; two "
                "maxima are never shown to be the same"
            )
        found[match[1]] = 1 + float(match[2]) / 100
    return found
