"""An experiment on executions, in words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whylate.compare.words import names_text
from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.recording.treatments import Treatment
from whylate.summary.arms import ArmFigures, Bounded, ExperimentFigures
from whylate.summary.model import Summary
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.compare.made_experiments import MadeExperiment
    from whylate.compare.overlay import OverlayRun

#: The headings of the table, in order.
ARM_COLUMNS = ("arm", "began", "returned", "reading took", "p50", "longer", "excess each")
#: Those of the table of several runs.
RUN_COLUMNS = ("run", "board", "experiment", "median by", "excess by", "preventable share")
_LINE_BYTES = 64
_ABOUT = {
    "prefetch": (
        "Reading brings code into the caches that code and data share, and not into the "
        "instruction cache itself."
    ),
    "cold": (
        "Reading so much leaves neither code nor data of the section in the second-level cache of "
        "its CPU, and few of its translations in the TLB: which of them was missed cannot be "
        "distinguished by this."
    ),
    "flush": (
        "Reading took: that of the code, which was read before as well, after such flushes, one in "
        "five, that no execution follows. Lines in pages that have a hook are not flushed, nor "
        "code that the section calls."
    ),
    "code": (
        "Reading took: calling 256 functions that were called before as well, after such walks, "
        "one in five, that no execution follows. Other code leaves the section's neither in the "
        "first two levels of caches nor in the TLB for instructions; the second level loses its "
        "data, too. Walks take longer than their placebo."
    ),
    "tlb": (
        "Reading took: touching 256 pages that were touched before as well, after such walks, one "
        "in five, that no execution follows. As many lines are read in both arms: they differ by "
        "translations, and the tables that these come from. Walks take longer than their placebo."
    ),
}
#: What is walked over: treated, and the placebo.
_WALKS = {
    "code": ("functions, in {mib} MiB of other code, are called", "the first of them as often"),
    "tlb": ("other pages are touched, a line of each", "few pages as often, as many lines"),
}


def experiment_of(summary: Summary) -> ExperimentFigures | None:
    """Return the experiment of a recording; None where it is none."""
    return summary.section.experiment if summary.section is not None else None


def experiment_headline(experiment: ExperimentFigures) -> str:
    """Say what was done before which executions."""
    reads = format_count(experiment.reads)
    if experiment.treatment == "flush":
        return (
            f"Experiment flush: before an execution {reads} lines of the section's code are "
            "flushed from the caches of all CPUs (treated), or as many of other memory (placebo), "
            "by chance; the next execution that begins is of that arm."
        )
    if experiment.treatment in _WALKS:
        treated, placebo = _WALKS[experiment.treatment]
        mib = experiment.reads * _LINE_BYTES >> 20
        return (
            f"Experiment {experiment.treatment}: on each CPU, before an execution {reads} "
            f"{treated.format(mib=mib)} (treated), or {placebo} (placebo), by chance; the next "
            "execution that begins on that CPU is of that arm."
        )
    what = (
        f"{reads} lines of the section's code"
        if experiment.treatment == "prefetch"
        else f"{reads} lines ({experiment.reads * _LINE_BYTES >> 20} MiB) of other memory"
    )
    return (
        f"Experiment {plain(experiment.treatment, 20)}: before an execution that is drawn {what} "
        "are read (treated), or one of them as often (placebo), by chance."
    )


def arm_rows(experiment: ExperimentFigures) -> list[tuple[str, ...]]:
    """Return a row for each arm."""
    return [_row(arm) for arm in experiment.arms]


def experiment_lines(experiment: ExperimentFigures) -> list[str]:
    """Say what the treatment changes, or why that is not known."""
    if experiment.not_applied is not None:
        return [f"no comparison: {plain(experiment.not_applied, 300)}"]
    lines = []
    if experiment.median_ns is not None:
        change, times = _change(experiment.median_ns), _times(experiment.median_ns)
        lines.append(f"the treatment changes the median by {change}: {times}")
    if experiment.excess_ns is not None:
        limit = format_short_ns(round(experiment.limit_ns or 0))
        lines.append(
            f"and the excess, what executions longer than {limit} take beyond the mean of the "
            f"others, by {_change(experiment.excess_ns)} each: {_times(experiment.excess_ns)}"
        )
    if experiment.share is not None and experiment.treatment == "prefetch":
        lines.append(f"preventable share of the excess by it: {share_text(experiment.share)}")
    return lines


def experiment_notes(experiment: ExperimentFigures) -> list[str]:
    """Say what the figures are of, and what cannot be distinguished."""
    text = (
        f"{_ABOUT[experiment.treatment]} Longer is longer than twice the placebo's median. "
        "Intervals: 95 %, over blocks of time, conditional on this run. All figures beside this "
        "table are of the placebo."
    )
    return [text]


def run_rows(runs: Sequence[OverlayRun]) -> list[tuple[str, ...]]:
    """Return a row for each of several runs that is an experiment: what its treatment changes."""
    rows: list[tuple[str, ...]] = []
    for run in runs:
        about = str(run.number), plain(run.board, 40)
        if run.experiment is not None:
            rows.append((*about, plain(run.experiment.treatment, 20), *_changes(run.experiment)))
        if run.made is not None:
            rows.append((*about, plain(run.made.what, 80), *_made_changes(run.made)))
    return rows


def run_notes(runs: Sequence[OverlayRun]) -> list[str]:
    """Say why runs have no comparison, and what cannot be distinguished on their boards."""
    notes = []
    for run in runs:
        experiment = run.experiment
        if experiment is not None and experiment.not_applied is not None:
            reason = plain(experiment.not_applied, 300)
            notes.append(f"Run {run.number} has no comparison: {reason}.")
        if run.made is not None and run.made.why_not is not None:
            reason = plain(run.made.why_not, 300)
            notes.append(f"Experiment {run.number} has no preventable share: {reason}.")
    boards = [
        plain(run.board, 40)
        for run in runs
        if run.experiment is not None and run.experiment.treatment == "cold"
    ]
    if boards:
        notes.append(
            f"Code and data cannot be distinguished on {names_text(list(dict.fromkeys(boards)))}: "
            "cold empties the second-level cache, which holds both."
        )
    if any(run.experiment is not None for run in runs):
        notes.append(
            "Excess: what executions longer than twice the placebo's median take beyond the mean "
            "of the others, each; the preventable share of it goes away with the treatment, "
            "on that board and in that run. Of other treatments than prefetch it is the share of "
            "the treated arm's excess that warm caches prevent. Percentiles are of the placebo."
        )
    if any(run.made is not None for run in runs):
        notes.append(
            "Experiments with runs of their own: excess is the late time in a second of a run, "
            "with it off minus with it on; the other figures are of the first run with it on."
        )
    return notes


def _changes(experiment: ExperimentFigures) -> tuple[str, str, str]:
    """Return what a treatment changes: the median, the excess, and the share of that."""
    if experiment.not_applied is not None:
        return "–", "–", "–"
    median, excess, share = experiment.median_ns, experiment.excess_ns, experiment.share
    return (
        _change(median) if median is not None else "–",
        _change(excess) if excess is not None else "–",
        _preventable(experiment.treatment, share) if share is not None else "–",
    )


def _preventable(treatment: Treatment, share: Bounded) -> str:
    """Return what a treatment prevents, or what warm caches prevent where it empties them.

    share: 1 - treated / placebo. The latter is 1 - placebo / treated, which falls as that rises.
    """
    if treatment == "prefetch":
        return share_text(share)
    ends = [None if end is None or end >= 1 else end / (end - 1)
            for end in (share.value, share.high, share.low)]  # fmt: skip
    value, low, high = ends
    if value is None:
        return "–"
    return f"by warm caches {share_text(Bounded(value, low, high))}"


def _made_changes(made: MadeExperiment) -> tuple[str, str, str]:
    """Return what an experiment with runs of its own changed."""
    on, off, share = made.late_on_ns_per_s, made.late_off_ns_per_s, made.preventable
    return (
        "–",
        "–" if on is None or off is None else f"{_signed(off - on)} a second",
        "–" if share is None else share_text(Bounded(share.share, share.low, share.high)),
    )


def share_text(share: Bounded) -> str:
    """Write a preventable share with its interval."""
    text = format_percent(share.value)
    if share.low is None or share.high is None:
        return f"{text}, which too few longer executions bound"
    return f"{text} [{format_percent(share.low)} to {format_percent(share.high)}]"


def _row(arm: ArmFigures) -> tuple[str, ...]:
    return (
        plain(arm.name, 20),
        format_count(arm.entries),
        format_count(arm.returned),
        _time(arm.reading_ns.value if arm.reading_ns is not None else None),
        _time(arm.median_ns),
        "–" if arm.longer is None else format_count(arm.longer),
        _time(arm.excess_ns),
    )


def _time(ns: float | None) -> str:
    return "–" if ns is None else format_short_ns(round(ns))


def _change(change: Bounded) -> str:
    text = _signed(change.value)
    if change.low is None or change.high is None:
        return text
    return f"{text} [{_signed(change.low)} to {_signed(change.high)}]"


def _times(change: Bounded) -> str:
    """Say whether there is a change at all."""
    if change.low is None:
        return "too few executions say whether that is a change"
    return "a change" if change.is_clear else "no change is shown"


def _signed(ns: float) -> str:
    return f"{'+' if round(ns) > 0 else ''}{format_short_ns(round(ns))}"
