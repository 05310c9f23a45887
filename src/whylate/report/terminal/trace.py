"""What was read of another tool's trace, and what it lacks: beside the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from whylate.causes.traces.missing_data import MissingData
from whylate.quantities import format_count, format_short_ns
from whylate.recording.traces.auto_analysis import AutoAnalysis
from whylate.recording.traces.read import TraceRead
from whylate.text import plain

#: Threads that are named; the rest are counted.
NAMED = 4


def print_read(read: TraceRead, threads: Sequence[tuple[str, int, int]], console: Console) -> None:
    """Print what was read. threads: name, pid and wakeups of those that are explained."""
    console.print(Text(what_was_read(read), style="dim"))
    for episode in read.latency[:NAMED]:
        between = f", {episode.started} to {episode.ended}" if episode.started else ""
        console.print(
            Text(
                plain(
                    f"{episode.tracer}: {format_short_ns(episode.latency_ns)} on CPU "
                    f"{episode.cpu}, "
                    f"{episode.task}{between}"
                )
            )
        )
    for analysis in read.analyses[:NAMED]:
        console.print(Text(_analysis(analysis)))
    if read.chosen is not None and threads:
        console.print(Text(who(read, threads), style="dim"))
        console.print(Text(_wakers(read), style="dim"))


def print_lacks(missing: Sequence[MissingData], console: Console) -> None:
    """Print what the trace lacks, each with its consequence."""
    if not missing:
        return
    console.print()
    console.print(Text("not in this trace", style="bold"))
    for lack in missing:
        console.print(Text.assemble("  ", plain(lack.what), (f": {plain(lack.so)}", "dim")))


def what_was_read(read: TraceRead) -> str:
    """Return a line of what was read."""
    seen = read.seen
    if read.analyses:
        many = "" if len(read.analyses) == 1 else f", {format_count(len(read.analyses))} of them"
        return f"{seen.layout}{many}"
    events = format_count(sum(seen.events.values()))
    span = f", {format_short_ns(seen.span_ns)}" if seen.first_ns is not None else ""
    return f"{seen.layout}: {events} events of {len(seen.cpus)} CPUs{span}"


def _analysis(analysis: AutoAnalysis) -> str:
    """Return a line of an analysis: whose latency, and who had the CPU as the timer was due."""
    where = f" on CPU {analysis.cpu}" if analysis.cpu >= 0 else ""
    what = "interrupt latency" if analysis.by_irq else "thread latency"
    line = f"{what} {format_short_ns(analysis.latency_ns)}{where}"
    if analysis.blocked_by is None:
        return line
    name, number = analysis.blocked_by
    went_on = "" if analysis.blocking_ns is None else (
        f", which ran on for {format_short_ns(analysis.blocking_ns)}")  # fmt: skip
    return f"{line}; the timer interrupted {plain(name, 32)} ({number}){went_on}"


def who(read: TraceRead, threads: Sequence[tuple[str, int, int]]) -> str:
    """Return a line of who is explained."""
    named = [
        f"{plain(name, 32)} ({pid}) {format_count(wakeups)}"
        for name, pid, wakeups in threads[:NAMED]
    ]
    rest = f", and {len(threads) - NAMED} more" if len(threads) > NAMED else ""
    why = f"; {read.chosen.why}" if read.chosen is not None else ""
    return f"wakeups of {', '.join(named)}{rest}{why}"


def _wakers(read: TraceRead) -> str:
    seen = read.seen
    if seen.traced:
        return f"{format_count(seen.traced)} as the tracer measured them"
    by = ", ".join(f"{waker.value} {format_count(n)}" for waker, n in seen.wakers.most_common())
    left = f"; {format_count(seen.unfinished)} whose end or beginning was not seen are left out"
    return f"woken by {by}" + (left if seen.unfinished else "")


def read_as_json(
    read: TraceRead, threads: Sequence[tuple[str, int, int]], missing: Sequence[MissingData]
) -> dict[str, Any]:
    """Return the same as an object of JSON."""
    seen = read.seen
    return {
        "layout": seen.layout,
        "events": sum(seen.events.values()),
        "events_by_name": dict(seen.events),
        "cpus": sorted(seen.cpus),
        "span_ns": seen.span_ns,
        "chosen": read.chosen.why if read.chosen is not None else None,
        "threads": [
            {"name": name, "pid": pid, "wakeups": wakeups} for name, pid, wakeups in threads
        ],
        "woken_by": {waker.value: count for waker, count in seen.wakers.items()},
        "measured_by_tracer": seen.traced,
        "left_out": seen.unfinished,
        "episodes": [
            {
                "tracer": episode.tracer,
                "kernel": episode.kernel,
                "cpu": episode.cpu,
                "task": episode.task,
                "latency_ns": episode.latency_ns,
                "started_at": episode.started,
                "ended_at": episode.ended,
            }
            for episode in read.latency
        ],
        "analyses": [_analysis_as_json(analysis) for analysis in read.analyses],
        "lacks": [{"what": lack.what, "so": lack.so} for lack in missing],
    }


def _analysis_as_json(analysis: AutoAnalysis) -> dict[str, Any]:
    """Return an auto-analysis as rtla printed it, in ns."""
    return {
        "cpu": analysis.cpu if analysis.cpu >= 0 else None,
        "latency_of": "interrupt" if analysis.by_irq else "thread",
        "latency_ns": analysis.latency_ns,
        "interrupt_delay_ns": None if analysis.by_irq else analysis.delay_ns,
        "earlier_interrupt_at_most_ns": analysis.previous_ns,
        "from_idle": analysis.from_idle,
        "timer_interrupt_ns": analysis.timer_ns,
        "blocking_thread": analysis.blocked_by[0] if analysis.blocked_by is not None else None,
        "blocking_thread_ns": analysis.blocking_ns,
        "stack": list(analysis.stack),
    }
