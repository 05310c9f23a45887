"""Names of points: by what is swept, so that runs with the same sweep agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whylate.recording.workloads.benchmarks import BenchmarkPoint

_MAX_COMMAND = 60


def size_text(size: int) -> str:
    """Format a size: 64 MiB, 20 KiB, 100 B."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def cpus_text(cpus: Sequence[int]) -> str:
    """Format where tasks run: CPU 0, CPUs 0,1."""
    if not cpus:
        return "any CPU"
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {','.join(map(str, cpus))}"


def count_text(number: int, noun: str) -> str:
    """Format a number of things: 1 task, 2 tasks."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cut_text(text: str) -> str:
    """Cut a command to what a name may have."""
    return text if len(text) <= _MAX_COMMAND else f"{text[: _MAX_COMMAND - 1]}…"


def used_cpus(points: Sequence[BenchmarkPoint]) -> list[int]:
    """Return the CPUs that points are pinned to, in their order; none: the scheduler chooses."""
    return list(dict.fromkeys(cpu for point in points for cpu in point.used_cpus))


def point_names(points: Sequence[BenchmarkPoint]) -> list[str]:
    """Return the name of each point: different points of one plan have different names."""
    return [_name(point.name, point, points) for point in points]


def series_names(points: Sequence[BenchmarkPoint]) -> list[str]:
    """Return names of points without the swept size or number of tasks or threads."""
    return [_name(point.series_name, point, points) for point in points]


def _name(name: str, point: BenchmarkPoint, points: Sequence[BenchmarkPoint]) -> str:
    texts = [
        name,
        *(text(point) for field, text in point.details.items() if _differs(field, points)),
    ]
    return ", ".join(filter(None, texts))


def _differs(field: str, points: Sequence[BenchmarkPoint]) -> bool:
    return len({getattr(point, field) for point in points}) > 1


def common_text(points: Sequence[BenchmarkPoint]) -> str:
    """Return what all points have in common and their names leave out."""
    if not points:
        return ""
    details = points[0].details.items()
    texts = [text(points[0]) for field, text in details if not _differs(field, points)]
    return ", ".join(filter(None, texts))
