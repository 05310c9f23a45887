"""Call paths of longer executions, in words that the terminal and the page share."""

from __future__ import annotations

from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.summary.model import PathFigures, PathsFigures, Summary
from whylate.text import plain

#: The headings of the table, in order.
PATH_COLUMNS = ("of longer", "of others", "longer", "total", "longest", "called from")


def paths_of(summary: Summary) -> PathsFigures | None:
    """Return the call paths of a recording; None where they were not asked for."""
    return summary.section.paths if summary.section is not None else None


def path_rows(paths: PathsFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of the paths of most longer executions.

    most: rows, and callers: in each.
    """
    return [_row(path, callers) for path in _shown(paths)[:most]]


def paths_headline(paths: PathsFigures) -> str:
    """Say of which executions the paths are."""
    if paths.above_ns is None:
        return (
            "Too few executions came before the run to know their median, so that no call path was "
            "kept: name a limit with --keep-above TIME."
        )
    longer = "1 execution" if paths.longer == 1 else f"{format_count(paths.longer)} executions"
    return (
        f"Call paths of {longer} that took longer than {format_short_ns(paths.above_ns)}, and of "
        f"{format_count(paths.control)} of the others, drawn at random"
    )


def paths_notes(paths: PathsFigures, most: int) -> list[str]:
    """Say what the table leaves out."""
    notes = []
    if paths.lost:
        notes.append(
            f"{format_count(paths.lost)} longer have no path: too many came at a time. The table "
            "is of those that came first in each 50 ms."
        )
    left = len(_shown(paths)) - most
    if left > 0:
        which = "1 path more is" if left == 1 else f"{format_count(left)} paths more are"
        notes.append(f"{which} in the output of --json.")
    return notes


def _shown(paths: PathsFigures) -> list[PathFigures]:
    return [path for path in paths.paths if path.longer]


def _row(path: PathFigures, callers: int) -> tuple[str, ...]:
    return (
        _share(path.share),
        _share(path.control_share),
        format_count(path.longer),
        format_short_ns(path.total_ns),
        format_short_ns(path.longest_ns),
        " ← ".join(plain(name, 80) for name in path.callers[:callers]) or "all others",
    )


def _share(share: float | None) -> str:
    return "–" if share is None else format_percent(share, 1)
