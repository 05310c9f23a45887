"""The longest that each piece of a latency was, and how often it came.

What comes once in an activation (the switch, a delay from outside) has the most that it took of any
activation; a section is in whylate.causes.longest_sections. A thread or a hook counts by its name,
for several can queue. An interrupt, a softirq or an NMI comes again: it has its longest
execution, without what interrupted it, and its arrivals in each window, from where the window is
complete until the thread ran.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from whylate.causes.longest_sections import LongestSections
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause
from whylate.causes.window.timeline import Level, Segment, cut_segments
from whylate.recording.events import Event, Kind, Window
from whylate.recording.manifest import SPAN_GAPS, TOTAL_ROWS, MaximumReport
from whylate.stats.tail.worst_together import Recurring, shortest_spans, spans_of_gaps

#: Levels that come again, and the cause that their time is.
_RECURRING = {
    Level.INTERRUPT: Cause.INTERRUPT,
    Level.SOFTIRQ: Cause.SOFTIRQ,
    Level.NMI: Cause.NMI,
}
#: What is counted otherwise.
_NOT_ONCE = frozenset({*_RECURRING.values(), Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED})
#: Several of them can queue before an activation, each by its name.
_BY_NAME = frozenset({Cause.THREAD, Cause.HOOK})

#: Arrivals are looked at over so much time, ns: no latency that is bounded is longer.
MOST_NS = 1_000_000_000
#: A cause and the name behind it, "" where it counts as one.
Name = tuple[Cause, str]


@dataclass
class LongestPieces:
    """Collects recorded activations.

    windows: how many there were. horizon_ns: the longest time of a window.
    """

    windows: int = 0
    horizon_ns: int = 0
    _once_ns: dict[Name, int] = field(default_factory=dict)
    _sections: LongestSections = field(default_factory=LongestSections)
    _cost_ns: Counter[Name] = field(default_factory=Counter)
    _arrivals_ns: dict[Name, list[list[int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, breakdown: Breakdown, window: Window) -> None:
        """Add an activation with its window; one without pieces shows nothing."""
        if breakdown.pieces is None:
            return
        self.windows += 1
        totals: Counter[Name] = Counter()
        for piece in breakdown.pieces:
            if piece.cause not in _NOT_ONCE:
                name = piece.detail if piece.cause in _BY_NAME else ""
                totals[piece.cause, name] += piece.length_ns
        for key, ns in totals.items():
            self._once_ns[key] = max(self._once_ns.get(key, 0), ns)
        own = [event for event in window.events if event.cpu == window.cpu]
        from_ns = _complete_from_ns(window, own)
        self.horizon_ns = max(self.horizon_ns, window.run_ns - from_ns)
        segments = cut_segments(own, window.cpu, from_ns, window.run_ns)
        self._sections.add(breakdown.pieces, segments)
        executions = _executions(segments)
        for key, lengths in executions.items():
            self._cost_ns[key] = max(self._cost_ns[key], *(ns for _, ns in lengths))
            self._arrivals_ns[key].append([start for start, _ in lengths])

    def once_ns(self, sampled_ns: Mapping[Cause, int] | None = None) -> dict[Name, int]:
        """Return the longest total of an activation, by name.

        sampled_ns: the longest sections as a whole, by their cause, where they were measured.
        """
        sections = self._sections.worst(sampled_ns or {})
        return self._once_ns | {(cause, ""): ns for cause, ns in sections.items()}

    def recurring(self, maxima: Sequence[Sequence[MaximumReport]] = ()) -> list[Recurring]:
        """Return what comes again, the longest first.

        maxima: of each recording, of all that came in it, in windows and outside of them. Arrivals
        are then as dense as they ever were, and not only in a window.
        """
        longest_ns, kept = Counter(self._cost_ns), _merge(maxima)
        for key, each in kept.items():
            longest_ns[key] = max(longest_ns[key], each.longest_ns)
        return [
            self._recurring(key, cost_ns, kept.get(key))
            for key, cost_ns in longest_ns.most_common()
        ]

    def _recurring(self, key: Name, cost_ns: int, kept: _Kept | None) -> Recurring:
        name = f"{key[0]} {key[1]}".strip()
        in_windows = shortest_spans(self._arrivals_ns.get(key, ()))
        if kept is None:
            return Recurring(name, cost_ns, in_windows, self.horizon_ns)
        most = max(kept.arrivals, len(in_windows))
        spans = list(spans_of_gaps(kept.gaps_ns, MOST_NS, most))
        for place, ns in enumerate(in_windows[: len(spans)]):
            spans[place] = min(spans[place], ns)
        # All of its arrivals in a whole run: no time has more.
        horizon_ns = MOST_NS if len(spans) == most else spans[-1]
        # A window may show one that is a little longer than the kept one.
        beyond_ns = max(0, cost_ns - kept.longest_ns)
        totals_ns = tuple((row, ns + row * beyond_ns) for row, ns in sorted(kept.totals_ns.items()))
        return Recurring(name, cost_ns, tuple(spans), horizon_ns, totals_ns)


@dataclass
class _Kept:
    """Maxima of one name. arrivals: the most in a recording.

    gaps_ns: no so many gaps between arrivals took less; totals_ns: no so many executions in a row
    took longer; empty where that is not known of all of them.
    """

    arrivals: int
    longest_ns: int
    gaps_ns: dict[int, int] = field(default_factory=dict)
    totals_ns: dict[int, int] = field(default_factory=dict)


def _merge(maxima: Sequence[Sequence[MaximumReport]]) -> dict[Name, _Kept]:
    """Merge the maxima of recordings by name."""
    by_name: dict[Name, list[list[MaximumReport]]] = defaultdict(list)
    for recording in maxima:
        of_recording: dict[Name, list[MaximumReport]] = defaultdict(list)
        for each in recording:
            of_recording[Cause(each.cause), each.name].append(each)
        for key, same in of_recording.items():
            by_name[key].append(same)
    return {key: _kept(recordings) for key, recordings in by_name.items()}


def _kept(recordings: Sequence[Sequence[MaximumReport]]) -> _Kept:
    """Merge the maxima of one name, which are those of its devices in each recording.

    Of several devices with one name only each one's gaps are known: of k n gaps between arrivals of
    k devices, n at least are of one. Of theirs in a row no total is known.
    """
    every = list(chain.from_iterable(recordings))
    devices = max(map(len, recordings))
    kept = _Kept(
        arrivals=max(sum(each.arrivals for each in same) for same in recordings),
        longest_ns=max(each.longest_ns for each in every),
    )
    for each in every:
        for gaps, ns in zip(SPAN_GAPS, each.spans_ns, strict=False):
            of_all = gaps * devices
            kept.gaps_ns[of_all] = min(kept.gaps_ns.get(of_all, ns), ns)
    if devices == 1 and all(len(each.totals_ns) == len(TOTAL_ROWS) for each in every):
        kept.totals_ns = {
            row: max(each.totals_ns[place] for each in every)
            for place, row in enumerate(TOTAL_ROWS)
        }
    return kept


def _complete_from_ns(window: Window, own: Sequence[Event]) -> int:
    """Return from when on a window has all events of its CPU: from a switch before it was due."""
    if window.observed_ns > window.due_ns:
        return min(window.observed_ns, window.run_ns)
    switches_ns = (event.time_ns for event in own if event.kind is Kind.SWITCH)
    return min(next(switches_ns, window.observed_ns), window.observed_ns)


def _executions(segments: list[Segment]) -> Mapping[Name, list[tuple[int, int]]]:
    """Return start and length of each execution, ns, by name.

    One that was interrupted goes on as the same until a thread has the CPU again.
    """
    executions: dict[Name, list[tuple[int, int]]] = defaultdict(list)
    going_on: set[Name] = set()
    for segment in segments:
        cause = _RECURRING.get(segment.level)
        if cause is None:
            going_on.clear()
            continue
        key = cause, segment.name
        start_ns, length_ns = segment.start_ns, segment.end_ns - segment.start_ns
        if key in going_on:
            start_ns, before_ns = executions[key].pop()
            length_ns += before_ns
        going_on.add(key)
        executions[key].append((start_ns, length_ns))
    return executions
