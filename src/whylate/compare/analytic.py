"""A bound of latency that needs no luck: the longest of all pieces that were seen, together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec

from whylate.causes.answer import read_activations
from whylate.causes.longest_pieces import LongestPieces
from whylate.causes.observability import Observable, list_observability
from whylate.causes.window.piece import Cause
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording, open_recording
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.tail.worst_together import worst_together
from whylate.summary.workloads.longest_off import longest_off_ns

#: What `section irqs-off` and `preempt-off` measure.
_SECTIONS = {"irqs-off": Cause.INTERRUPTS_DISABLED, "preempt-off": Cause.PREEMPTION_DISABLED}


class BoundPiece(msgspec.Struct, frozen=True):
    """A piece of the bound. times: how often it comes in it; together_ns: what that makes.

    utilisation: the part of a long time that it would take, if what recurs always took as long, and
    came as densely, as it ever did; 0 for what comes once.
    """

    name: str
    longest_ns: int
    times: int
    together_ns: int
    utilisation: float


class AnalyticBound(msgspec.Struct, frozen=True):
    """The worst latency that the pieces could make together.

    bound_ns: None where what recurs takes the whole CPU. largest_ns: the largest seen, which the
    bound is never below; is_refuted: the pieces alone make less, so that one was not observed.
    unobserved: what no bound here covers. windows: recorded activations behind it. horizon_ns: for
    how long the longest window shows what came; is_cut: the bound is longer, and beyond that a
    piece is taken to come as densely. maxima: interrupts and softirqs that are known of all of the
    runs; has_totals: of some also how long several in a row took. windows_bound_ns: what windows
    show alone, which covers nothing outside of them.
    """

    bound_ns: int | None
    windows_bound_ns: int | None
    largest_ns: int
    at_least: bool
    is_refuted: bool
    pieces: list[BoundPiece]
    unobserved: list[str]
    windows: int
    horizon_ns: int
    is_cut: bool
    maxima: int
    has_totals: bool


def analytic_bound(paths: Sequence[Path]) -> AnalyticBound:
    """Bound the latency of runs like these; raises RecordingError.

    paths: recordings of wakeups with windows, and others of `section irqs-off` or `preempt-off`,
    which show sections as a whole.
    """
    recordings = [open_recording(path) for path in paths]
    wakeups = [each for each in recordings if _has_windows(each)]
    sampled = _sampled_sections(recordings)
    if not wakeups:
        raise LackingError(
            f"{paths[0]} has no windows of wakeups, which show the pieces of a latency: name a "
            "recording of whylate measure"
        )
    longest = LongestPieces()
    for recording in wakeups:
        for traced in read_activations(recording):
            longest.add(traced.breakdown, traced.window)
    if not longest.windows:
        raise LackingError(f"{paths[0]} has no window of an activation: measure longer")
    once_ns = longest.once_ns(sampled)
    once = {f"{cause} {name}".strip(): ns for (cause, name), ns in once_ns.items()}
    ordered = merge_ordered([sort_series(cpu) for each in wakeups for cpu in each.series])
    largest_ns = ordered.at_least(ordered.n - 1) if ordered.n else 0
    maxima = [each.manifest.recorder.maxima or [] for each in wakeups if each.manifest.recorder]
    recurring = longest.recurring(maxima)
    bound_ns = worst_together(once.values(), recurring, largest_ns)
    at_ns = bound_ns if bound_ns is not None else largest_ns
    pieces = [BoundPiece(name, ns, 1, ns, 0.0) for name, ns in once.items()]
    for each in recurring:
        times = each.arrivals(at_ns)
        together_ns = each.together_ns(times)
        pieces.append(BoundPiece(each.name, each.cost_ns, times, together_ns, each.utilisation))
    pieces.sort(key=lambda piece: (-piece.together_ns, piece.name))
    together_ns = sum(piece.together_ns for piece in pieces)
    return AnalyticBound(
        bound_ns=bound_ns,
        windows_bound_ns=worst_together(once.values(), longest.recurring(), largest_ns),
        largest_ns=largest_ns,
        at_least=bool(ordered.n) and ordered.at_most(ordered.n - 1) != largest_ns,
        is_refuted=bound_ns is not None and together_ns < largest_ns,
        pieces=pieces,
        unobserved=_unobserved(wakeups, sampled),
        windows=longest.windows,
        horizon_ns=longest.horizon_ns,
        is_cut=any(each.horizon_ns < at_ns for each in recurring),
        maxima=len({(each.cause, each.name) for each in chain.from_iterable(maxima)}),
        has_totals=any(each.totals_ns for each in recurring),
    )


def _has_windows(recording: Recording) -> bool:
    plan, report = recording.manifest.plan, recording.manifest.recorder
    is_wakeup = plan.activations is not None and not plan.has_parts
    return is_wakeup and report is not None and report.engine is not None


def _sampled_sections(recordings: Sequence[Recording]) -> dict[Cause, int]:
    """Return the most that the longest sections can have taken, by `section`."""
    longest: dict[Cause, int] = {}
    for recording in recordings:
        for what, ns in longest_off_ns(recording.manifest).items():
            longest[_SECTIONS[what]] = max(longest.get(_SECTIONS[what], 0), ns)
    return longest


def _unobserved(wakeups: Sequence[Recording], sampled: dict[Cause, int]) -> list[str]:
    lacking: dict[str, None] = {}
    for recording in wakeups:
        manifest = recording.manifest
        for each in list_observability(manifest.recorder, manifest.facts):
            if each.observable is not Observable.YES:
                lacking[f"{each.cause.value} ({each.missing})"] = None
        report = manifest.recorder
        if report is not None and report.maxima is None:
            lacking[
                "interrupts and softirqs outside of windows (the recorder keeps the longest of all "
                "with BPF alone, and older recordings have none)"
            ] = None
        if report is not None and report.rate_limited:
            lacking[f"{report.rate_limited} late activations without a window"] = None
    for what, cause in _SECTIONS.items():
        if cause not in sampled:
            lacking[
                f"the part of a section with {cause.value} before an activation was due (add a "
                f"recording of whylate section {what})"
            ] = None
    return list(lacking)
