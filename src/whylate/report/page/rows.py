"""The rows and words of the HTML report: a summary and a manifest turned into text.

Nothing here is escaped for HTML: the template does that, for everything, by itself.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from whylate.quantities import (
    format_amount,
    format_count,
    format_interval_ns,
    format_ns,
    format_rate,
    format_span_ns,
)
from whylate.recording.device_loads import written_kind
from whylate.recording.manifest import CrashReport, FactValue, LoadReport, Manifest
from whylate.report.sentences import (
    QUANTILES,
    added_text,
    estimate_text,
    hit_text,
    left_out_text,
    thread_label,
    threads_shown,
    worst_first,
)
from whylate.summary.model import (
    Estimate,
    EventFigures,
    Figures,
    ObserverEffect,
    Summary,
    ThreadFigures,
)
from whylate.text import plain, plain_lines

#: Facts and changes are the board's to choose; a page stays a page. The rest is in manifest.json.
_MOST_FACT_BYTES = 400_000
_MOST_CHANGES = 300
_MOST_CRASHES = 20
_MOST_FRAMES = 60
#: Rows of the table before the rest of the CPUs is folded away.
_OPEN_ROWS = 8
#: Bytes of markup round one fact.
_FACT_MARKUP = 140


@dataclass(frozen=True)
class Cell:
    """One figure of the table: its quantile, value and interval, or why it is missing."""

    name: str
    value: str
    interval: str
    missing: str


@dataclass(frozen=True)
class Row:
    """The figures of one CPU, or of all together."""

    label: str
    together: bool
    counts: tuple[tuple[str, str], ...]
    lowest: str
    cells: tuple[Cell, ...]


def row_of(figures: Figures, *, overruns: bool = True) -> Row:
    """Write one line of the table of quantiles; overruns: whether there can be any."""
    counts = ("seen", "overrun", "dropped") if overruns else ("seen", "dropped")
    return Row(
        label="all" if figures.cpu is None else f"CPU {figures.cpu}",
        together=figures.cpu is None,
        counts=_counts(figures, *counts),
        lowest="–" if figures.min_ns is None else format_ns(figures.min_ns),
        cells=_cells(figures.latency_ns),
    )


def thread_row(thread: ThreadFigures) -> Row:
    """Write the line of a program's thread; what was dropped is known by CPU alone."""
    return Row(
        label=thread_label(thread),
        together=False,
        counts=(("seen", format_count(thread.seen)), ("dropped", "")),
        lowest=format_ns(thread.min_ns),
        cells=_cells(thread.latency_ns),
    )


@dataclass(frozen=True)
class FiguresTable:
    """The tables of quantiles: `rows` are open, `folded` are not. unit: "CPU" or "thread"."""

    unit: str
    caption: str
    rows: list[Row]
    folded: list[Row]


def figures_table(summary: Summary) -> FiguresTable:
    """Choose what stands in the tables: CPUs, or the threads of a program and then CPUs."""
    rows = [row_of(f, overruns=summary.scheduled) for f in summary.per_cpu]
    if not summary.scheduled:
        threads = [thread_row(thread) for thread in summary.per_thread]
        shown = threads_shown(summary, len(threads))
        return FiguresTable("thread", f"All threads together, and {shown}" if shown else "",
                            [] if summary.threads == 1 else threads, rows)  # fmt: skip
    if len(rows) <= _OPEN_ROWS:
        return FiguresTable("CPU", "", [] if len(rows) == 1 else rows, [])
    worst = [row_of(f) for f in worst_first(summary.per_cpu)[:_OPEN_ROWS]]
    caption = f"All CPUs together, and the worst {len(worst)} of {len(rows)}"
    return FiguresTable("CPU", caption, worst, rows)


def stage_rows(figures: Sequence[Figures]) -> list[Row]:
    """Write a line for each stage of each of these figures; none where no stage was recorded."""
    return [
        Row(
            label=f"{name} latency" if row.cpu is None else f"{name}, CPU {row.cpu}",
            together=row.cpu is None,
            counts=_counts(stage, "seen", "not_seen"),
            lowest="",
            cells=_cells(stage.latency_ns),
        )
        for row in figures
        for name, stage in row.stages.items()
    ]


def _counts(figures: object, *names: str) -> tuple[tuple[str, str], ...]:
    """Return the headings of counts and their values, by the names of fields."""
    return tuple((name.replace("_", " "), format_count(getattr(figures, name))) for name in names)


def _cells(latency_ns: Mapping[str, Estimate]) -> tuple[Cell, ...]:
    return tuple(_cell(name, latency_ns.get(name)) for name in QUANTILES)


def _cell(name: str, estimate: Estimate | None) -> Cell:
    if estimate is None or estimate.value is None:
        reason = "not computed" if estimate is None else estimate.reason or "refused"
        return Cell(name, "–", "", plain(reason, 300))
    interval = format_interval_ns(estimate.low, estimate.high, estimate.value)
    return Cell(name, estimate_text(estimate), interval, "")


def unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(r"(?<=\d) (?=(?:[nµm]?s|min|h|d|days|%)(?!\w))", "\u00a0", text)


def missing_figures(rows: Iterable[Row]) -> list[str]:
    """List why figures are missing, each reason once and no more than a reader will read."""
    return list(dict.fromkeys(c.missing for row in rows for c in row.cells if c.missing))[:8]


def worst_cpu(summary: Summary) -> str:
    """Say where the worst latency was, if it was on one CPU alone, or whose it was."""
    worst = summary.together.latency_ns.get("max")
    if worst is None or worst.value is None:
        return plain(worst.reason or "", 200) if worst else ""
    if summary.per_thread:
        return thread_label(summary.per_thread[0])
    where = [
        f.cpu
        for f in summary.per_cpu
        if (m := f.latency_ns.get("max")) is not None and m.value == worst.value
    ]
    place = f"on CPU {where[0]}" if len(where) == 1 else ""
    bound = "a lower bound: there were overruns" if worst.at_least else ""
    return ", ".join(part for part in (place, bound) if part)


def when(created: str) -> str:
    """Write an ISO time for people, in UTC; what is no ISO time is shown as it is."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return plain(created, 60)
    if moment.tzinfo is None:
        return moment.strftime("%Y-%m-%d %H:%M")
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def load_rows(loads: Iterable[LoadReport]) -> list[dict[str, str]]:
    """Write what each load did before and during the run."""
    rows = []
    for load in loads:
        before, during = load.before_per_s, load.during_per_s
        change = ""
        if before and during is not None:
            change = f"{100 * (during / before - 1):+.0f} %".replace("-", "−")
        rows.append(
            {
                "name": f"{plain(written_kind(load.kind), 60)} × {load.count}",
                "command": plain(load.command or "", 400),
                "before": format_rate(before, plain(load.unit, 20)),
                "during": format_rate(during, plain(load.unit, 20)),
                "change": change,
                "error": plain(load.error or "", 300),
            }
        )
    return rows


def crash_rows(crashes: Sequence[CrashReport]) -> list[dict[str, str]]:
    """Write what the console shows of crashes: kind, first line, where in its log, the calls."""
    return [
        {
            "kind": plain(crash.kind, 60),
            "headline": plain(crash.headline, 300),
            "line": format_count(crash.line),
            "backtrace": "\n".join(plain(frame, 200) for frame in crash.backtrace[:_MOST_FRAMES]),
        }
        for crash in crashes[:_MOST_CRASHES]
    ]


def board_rows(manifest: Manifest) -> dict[str, Any]:
    """Write what the board had, what was set for the run, and which counters moved during it.

    Facts are grouped by their themes, within a bound on their number and length; a change is its
    name, CPU, amount, and where it was read.
    """
    groups: dict[str, list[tuple[str, str, str]]] = {}
    shown, size = 0, 0
    for fact in manifest.facts:
        row = (plain(fact.name, 200), _fact_value(fact.value), plain(fact.source, 300))
        size += _FACT_MARKUP + sum(
            len(html.escape(text).encode("utf-8", "replace")) for text in row
        )
        if size > _MOST_FACT_BYTES:
            break
        groups.setdefault(plain(fact.theme, 40), []).append(row)
        shown += 1
    changes = [
        (
            plain(change.name, 120),
            "" if change.cpu is None else f"CPU {change.cpu}",
            f"{'+' if change.delta > 0 else ''}{_amount(change.delta, plain(change.unit, 20))}",
            plain(change.source, 200),
        )
        for change in manifest.changes[:_MOST_CHANGES]
    ]
    return {
        "facts": {"groups": groups, "shown": shown, "left_out": len(manifest.facts) - shown},
        "settings": [(plain(s.path, 200), plain(s.value, 200)) for s in manifest.plan.settings],
        "hits": [(plain(hit.name, 300), hit_text(hit)) for hit in manifest.hits],
        "changes": changes,
        "changes_left_out": len(manifest.changes) - len(changes),
    }


def _fact_value(value: FactValue) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return plain_lines("\n".join(plain(item, 400) for item in value[:500]))
    return plain_lines(value) if isinstance(value, str) else str(value)


def _amount(delta: float, unit: str) -> str:
    """Counters are exact, other amounts have three digits."""
    if unit not in ("bytes", "B") and float(delta).is_integer() and abs(delta) < 1e15:
        return f"{format_count(int(delta))} {unit}".rstrip()
    return format_amount(delta, unit)


def probe_rows(manifest: Manifest, elapsed_ns: int) -> list[tuple[str, str]]:
    """Say what measuring itself cost and how the line behaved."""
    probe = manifest.probe
    share = 100 * (probe.cpu_time_ns or 0) / max(elapsed_ns, 1)
    known: list[tuple[str, int | None, Callable[[int], str]]] = [
        ("CPU time", probe.cpu_time_ns, lambda ns: f"{format_ns(ns)}, {share:.2g} % of one CPU"),
        ("peak memory", probe.peak_memory_bytes, lambda size: format_amount(size, "bytes")),
        ("one clock reading", probe.clock_read_ns, format_ns),
        ("clock resolution", probe.clock_resolution_ns, format_ns),
    ]
    frames = (
        f"{format_count(probe.frames)} received, "
        f"{format_count(probe.frames_damaged)} damaged, "
        f"{format_count(probe.frames_resent)} sent again, "
        f"{format_count(probe.frames_lost)} lost"
    )
    return [
        ("probe", f"{plain(probe.version, 60)}, {plain(probe.arch, 60)}"),
        ("sha256", plain(probe.sha256, 80)),
        *((name, text(value)) for name, value, text in known if value is not None),
        ("clock", plain(manifest.clock, 60)),
        ("frames", frames),
    ]


def observer_rows(effect: ObserverEffect | None) -> list[tuple[str, str]]:
    """Say what the recorder adds to latencies; nothing where it stayed attached."""
    if effect is None:
        return []
    if effect.reason is not None:
        return [("recorder adds", f"not known: {plain(effect.reason, 300)}")]
    how = (
        f"{format_count(effect.attached)} activations with it and "
        f"{format_count(effect.detached)} without, in {effect.groups} groups of {effect.every} "
        f"blocks of {format_span_ns(effect.block_ns)}; {left_out_text(effect)}"
    )
    return [
        *(("recorder adds", added_text(figure)) for figure in effect.added),
        ("compared", how),
    ]


def event_rows(events: Sequence[EventFigures]) -> list[tuple[str, str]]:
    """Return what was counted of the measuring threads."""
    return [
        (plain(event.name, 60), f"{format_count(round(event.per_activation))} an activation")
        for event in events
    ]


def thread_rows(manifest: Manifest) -> list[tuple[str, str, str, str]]:
    """Say what each measuring thread really had: (CPU, policy, memory, time measured)."""
    return [
        (
            f"CPU {a.cpu}",
            f"{plain(a.policy, 30)} {a.priority}",
            "locked" if a.memory_locked else "not locked",
            format_span_ns(max(0, a.end_ns - a.start_ns)),
        )
        for a in manifest.cpus
    ]
