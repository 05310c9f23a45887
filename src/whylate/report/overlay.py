"""Several runs beside each other, in words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.compare.overlay import Overlay, OverlayRun, ShapePair
from whylate.compare.words import names_text
from whylate.quantities import format_estimate, format_number, format_percent
from whylate.report.executions import peak_text
from whylate.summary.benchmarks.model import Figure
from whylate.text import plain

#: What a p-value of a permutation cannot be below is an upper bound all the same.
_DIGITS = 2


def run_text(run: OverlayRun) -> str:
    """Return a run's number and its recording's name."""
    name = run.recording.rstrip("/").rsplit("/", 1)[-1]
    return f"{run.number} {plain(name, 60)}"


def title(overlay: Overlay) -> str:
    """Say of what how many runs are: "4 runs: duration", "2 runs: benchmark memory"."""
    what = f"benchmark {plain(overlay.workload, 40)}" if overlay.points else overlay.quantity
    return f"{len(overlay.runs)} runs: {what}"


def findings(overlay: Overlay) -> list[str]:
    """Say which shapes cannot be told from each other, and which differ; none of a benchmark."""
    texts = [_together(group) for group in overlay.groups if len(group) > 1]
    for place, group in enumerate(overlay.groups):
        texts += [_apart(group, other, overlay) for other in overlay.groups[place + 1 :]]
    if overlay.points:
        return texts
    for run in overlay.runs:
        if run.no_group is not None:
            texts.append(f"Run {run.number} is in no group: {plain(run.no_group, 300)}.")
    return texts


def findings_note(overlay: Overlay) -> str:
    """Say what a shape is, and how often shapes are distinguished wrongly."""
    if not overlay.pairs:
        return ""
    return (
        "Runs have one shape where one is the other, stretched; differences below "
        f"{format_percent(overlay.matters - 1)} or a step of the clock are none. P-values are of "
        f"permutations of blocks of time, adjusted for all {_pairs(len(overlay.pairs))} by Holm: "
        f"of runs of one shape any two differ in at most {format_percent(overlay.level)} of such "
        "pages. What holds of these runs need not hold of the next: runs of one system may differ "
        "from boot to boot. Runs that cannot be told from each other may still differ, by less "
        "than they show."
    )


def _together(group: Sequence[int]) -> str:
    return f"The shapes of runs {_numbers(group)} cannot be told from each other."


def _apart(group: Sequence[int], other: Sequence[int], overlay: Overlay) -> str:
    """Say what of two groups is known to differ."""
    between = [
        pair
        for pair in overlay.pairs
        if (pair.first in group and pair.second in other)
        or (pair.first in other and pair.second in group)
    ]
    differing = [pair for pair in between if pair.differ]
    alike = [pair for pair in between if not pair.differ]
    p = max(pair.adjusted for pair in differing)
    p_text = f"p {'=' if len(differing) == 1 else '≤'} {format_number(p, _DIGITS)}"
    most = min(differing, key=lambda pair: pair.adjusted)
    if alike:
        who = "; ".join(f"run {pair.second} differs in shape from run {pair.first}"
                        for pair in differing)  # fmt: skip
        who = f"{who[0].upper()}{who[1:]} ({p_text})"
    else:
        who = f"The shape of {_runs(other)} differs from {_those(group)} ({p_text})"
    text = f"{who}: {_quantile_text(most, several=len(differing) > 1)}."
    if alike:
        pairs = ", ".join(f"{pair.second} and {pair.first}" for pair in alike)
        text += f" Not distinguished: {pairs}."
    return text


def _quantile_text(pair: ShapePair, *, several: bool) -> str:
    """Say in which percentile two runs differ most: "p99 is 4.1 times as high in 3 as in 1, …"."""
    if pair.quantile is None or pair.ratio is None:
        return "nothing"
    name = f"p{100 * pair.quantile:g}"
    ratio, first, second = pair.ratio, pair.first, pair.second
    if ratio < 1:
        ratio, first, second = 1 / ratio, second, first
    which = "most clearly " if several else ""
    return (
        f"{which}{name} is {format_number(ratio, 3)} times as high in "
        f"{second} as in {first}, scaled onto each other"
    )


def _numbers(group: Sequence[int]) -> str:
    return names_text([str(number) for number in group])


def _runs(group: Sequence[int]) -> str:
    return f"run {group[0]}" if len(group) == 1 else f"each of runs {_numbers(group)}"


def _those(group: Sequence[int]) -> str:
    return f"that of run {group[0]}" if len(group) == 1 else f"each of those of {_numbers(group)}"


def _pairs(count: int) -> str:
    return f"{count} pairs" if count > 1 else "pairs, of which there is one"


def peak_lines_of_runs(overlay: Overlay) -> list[str]:
    """Say of each run how much is near its most frequent value."""
    lines = []
    for run in overlay.runs:
        text = "" if run.duration is None else peak_text(run.duration)
        if text:
            ratio = run.duration.largest_ratio if run.duration is not None else None
            largest = f"; the largest is {format_number(ratio, 3)} times it" if ratio else ""
            text = text.replace("executions", plain(overlay.counted, 20), 1)
            lines.append(f"{run.number}: {text}{largest}")
    return lines


def figure_text(figure: Figure | None) -> str:
    """Write a figure of a benchmark with its interval; "–" where it was not measured."""
    if figure is None:
        return "–"
    value, interval = format_estimate(figure.value, figure.low, figure.high)
    return f"{value} {interval}".rstrip()
