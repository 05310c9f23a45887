"""Call paths and samples of longer executions, in words that terminal and page share."""

from __future__ import annotations

from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.summary.model import PathFigures, PathsFigures, Summary
from whylate.text import plain

#: The headings of the table, in order.
PATH_COLUMNS = ("of longer", "of others", "longer", "total", "longest", "called from")
SAMPLE_COLUMNS = (*PATH_COLUMNS[:-1], "seen in")


def paths_of(summary: Summary) -> PathsFigures | None:
    """Return the call paths of a recording; None where they were not asked for."""
    return summary.section.paths if summary.section is not None else None


def samples_of(summary: Summary) -> PathsFigures | None:
    """Return where executions were seen; None where that was not asked for."""
    return summary.section.samples if summary.section is not None else None


def path_rows(paths: PathsFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of the paths of most longer executions.

    most: rows, and callers: in each.
    """
    return [_row(path, callers) for path in _shown(paths)[:most]]


def paths_headline(paths: PathsFigures) -> str:
    """Say of which executions the paths are."""
    if paths.above_ns is None:
        return _no_median("call path")
    longer = "1 execution" if paths.longer == 1 else f"{format_count(paths.longer)} executions"
    return (
        f"Call paths of {longer} that took longer than {format_short_ns(paths.above_ns)}, and of "
        f"{format_count(paths.control)} of the others, drawn at random"
    )


def samples_headline(samples: PathsFigures) -> str:
    """Say of which executions the samples are, and where they differ."""
    if samples.above_ns is None:
        return _no_median("sample")
    longer = "1 execution" if samples.longer == 1 else f"{format_count(samples.longer)} executions"
    text = (
        f"Where {longer} that took longer than {format_short_ns(samples.above_ns)} and "
        f"{format_count(samples.control)} of the others were seen in their own code, each once"
    )
    differing = samples.differing
    if differing is None:
        return f"{text}. In no function longer executions surely were more often."
    share, other = differing.longer / samples.longer, differing.control / samples.control
    return (
        f"{text}. Longer executions were in {plain(differing.name, 80)} more often: "
        f"{format_percent(share, 1)} of them and {format_percent(other, 1)} of the others, "
        f"{format_points(differing.low)} to {format_points(differing.high)} percentage points more"
    )


def format_points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{100 * share:.0f}"


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


def _no_median(what: str) -> str:
    return (
        f"Too few executions came before the run to know their median, so that no {what} was "
        "kept: name a limit with --keep-above TIME."
    )


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
