"""Baselines: what is compared of runs, kept under a name.

The figures are kept, not the samples: a baseline is a small file of JSON, which can be put beside
the sources that it belongs to. A name is one below the user's data directory; with a slash, or
with .json at its end, it is a path.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from whylate.compare.run_environment import Environment
from whylate.compare.runs import Arm, Run
from whylate.recording.bounds import Count, Small
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import HitReport
from whylate.recording.store.lines import read_plan, write_plan
from whylate.stats.comparison.run_statistics import STATISTICS, Statistic, Value

SCHEMA_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")


class SavedValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statistic of a run: natural logarithms, of ns or of a point's unit, at least and at most.

    most: None where overruns leave it without a bound.
    """

    log: float
    most: float | None


class SavedPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point of a benchmark's run; see whylate.stats.comparison.run_statistics.Statistic."""

    name: str
    unit: str
    higher_is_better: bool
    quantity: str


class SavedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run of a baseline; see whylate.compare.runs.Run."""

    name: str
    values: dict[str, SavedValue]
    activations: Count
    boot: str | None
    made: str
    distrust: tuple[str, ...]
    sets: dict[str, str]
    beside: dict[str, str]
    repeats: bool
    lacks: tuple[str, ...] = ()
    #: Of a benchmark's run: what it may be compared by. Empty: the statistics of latencies.
    points: list[SavedPoint] = []
    identity: str = ""
    hits: tuple[HitReport, ...] = ()
    environment: Environment | None = None


#: Fields that a run and a saved run have in common.
_ALIKE = ("name", "activations", "boot", "made", "distrust", "sets", "beside", "repeats",
          "lacks", "identity", "hits", "environment")  # fmt: skip


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file."""

    format: Literal["whylate-baseline"] = "whylate-baseline"
    schema_version: Small = SCHEMA_VERSION
    runs: list[SavedRun]


def path_of(name: str) -> Path:
    """Return where a baseline is kept; raises RecordingError for what is no name."""
    if "/" in name or name.endswith(".json"):
        return Path(name)
    if not _NAME.fullmatch(name):
        raise RecordingError(
            f"{name[:80]!r} is not a valid baseline name: use characters A-Z a-z 0-9 . _ + -"
        )
    base = os.environ.get("XDG_DATA_HOME")
    data = Path(base) if base else Path.home() / ".local" / "share"
    return data / "whylate" / "baselines" / f"{name}.json"


def save(name: str, runs: Sequence[Run], *, replace: bool) -> Path:
    """Keep runs as a baseline; raises RecordingError and DiskError."""
    path = path_of(name)
    if path.exists() and not replace:
        raise RecordingError(f"there is a baseline {name} already: say --replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{path.parent} cannot be made: {error.strerror}") from None
    write_plan(path, Baseline(runs=[_saved(run) for run in runs]))
    return path


def load(name: str) -> Arm:
    """Return a baseline as a side of a comparison; raises RecordingError."""
    path = path_of(name)
    baseline = read_plan(path, Baseline, f"there is no baseline {name}", SCHEMA_VERSION)
    if not baseline.runs:
        raise RecordingError(f"{path} has no runs")
    return Arm(
        f"baseline {path.name.removesuffix('.json')}", tuple(_run(run) for run in baseline.runs)
    )


def _saved(run: Run) -> SavedRun:
    return SavedRun(
        **{name: getattr(run, name) for name in _ALIKE},
        values={
            name: SavedValue(value.compared, None if math.isinf(value.most) else value.most)
            for name, value in run.values.items()
        },
        points=[
            SavedPoint(
                statistic.name, statistic.unit or "", statistic.higher_is_better, statistic.quantity
            )
            for statistic in run.statistics
            if run.by_points
        ],
    )


def _run(saved: SavedRun) -> Run:
    return Run(
        **{name: getattr(saved, name) for name in _ALIKE},
        values={
            name: Value(value.log, math.inf if value.most is None else value.most)
            for name, value in saved.values.items()
        },
        by_points=bool(saved.points),
        statistics=tuple(Statistic(**msgspec.structs.asdict(point)) for point in saved.points)
        or STATISTICS,
    )
