"""One screen that says what trials found."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_count
from whylate.report.terminal import hanging, load_line, trust_lines
from whylate.summary.trial_model import (
    Measured,
    NetworkFigures,
    PointFigures,
    Prediction,
    TrialsSummary,
)
from whylate.text import plain

#: A column: its heading, and what stands in it of a point.
Column = tuple[str, Callable[[PointFigures], str]]


def print_trials(summary: TrialsSummary, console: Console, report_path: str | None = None) -> None:
    """Print the summary; whatever comes from the board is plain text, never markup."""
    parts = [summary.board, summary.kernel or "", summary.cpu_model or ""]
    board, *rest = (plain(part, 60) for part in parts if part)
    console.print(Text.assemble((board, "bold"), *(f" · {part}" for part in rest)))
    console.print(Text(subject(summary)))
    for load in summary.loads:
        console.print(load_line(load))
    console.print()
    console.print(_table(summary))
    for line in _below(summary):
        console.print(line)
    if report_path is not None:
        console.print(Text(f"report  {plain(report_path, 1000)}"), soft_wrap=True)


def _below(summary: TrialsSummary) -> list[RenderableType]:
    """Return what stands below the figures: what they are, what they show, and the trust."""
    return [
        *(
            hanging("refused", plain(f"{one.name}: {one.refused}", 400), "red")
            for one in summary.points
            if one.refused
        ),
        Text(f"Under each figure: {summary.interval_note}", style="dim"),
        *(Text(plain(text, 400), style="dim") for text in said(summary)),
        Text(),
        *(Text(plain(text, 300)) for one in summary.networks for text in network_lines(one)),
        *_findings(summary),
        *(hanging("warning", plain(one.text, 300), "yellow") for one in summary.warnings),
        *trust_lines(summary.trust),
    ]


def _findings(summary: TrialsSummary) -> list[RenderableType]:
    return [
        hanging("finding", plain(f"{finding.text}.", 600), "bold") for finding in summary.findings
    ]


def print_findings(summary: TrialsSummary, console: Console) -> None:
    """Print what the figures show, or that they show nothing by themselves."""
    console.print(Text(subject(summary)))
    for line in _findings(summary):
        console.print(line)
    if not summary.findings:
        console.print(
            Text(
                "These figures show nothing by themselves: whylate compare says what a setting "
                "makes of them, and --counters what the CPU did meanwhile."
            )
        )
    for part in trust_lines(summary.trust):
        console.print(part)


def subject(summary: TrialsSummary) -> str:
    """Say what was done, in one line."""
    common = f" · {plain(summary.common, 120)}" if summary.common else ""
    each = "" if summary.workload == "cmd" else f" of {summary.repetitions} repetitions"
    virtual = " · in virtual time" if summary.virtual_time else ""
    rounds = "round" if summary.rounds == 1 else "rounds"
    if summary.workload == "clock":
        source = plain(summary.clock_source or "not told", 40)
        common += f" · the kernel's clock source {source}"
    return f"{summary.workload}{common} · {summary.rounds} {rounds}{each}{virtual}"


def number(value: float) -> str:
    """Write a figure with four digits: 1.234, 56.78, 1,234."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return format_count(round(value))
    text = f"{value:.4g}"
    # What is next to nothing is no number with ten zeros.
    return text if "e" not in text else f"{value:.6f}" if abs(value) >= 5e-7 else "0"


def measured_cell(one: Measured | None) -> tuple[str, str]:
    """Write a figure and its interval; empty where there is none."""
    if one is None:
        return "–", ""
    if one.low is None or one.high is None:
        return number(one.value), ""
    return number(one.value), f"{number(one.low)} … {number(one.high)}"


#: The figures of each workload by their keys, and how their columns are headed.
FIGURES: dict[str, dict[str, str]] = {
    "switch": {
        "ns_per_switch": "ns a switch",
        "ns_per_hop": "ns a hop",
        "more_ns_per_hop": "more than alone",
    },
    "memory": {"gb_per_s": "GB/s", "ns_per_read": "ns a read"},
    "clock": {"ns_per_call": "ns a call", "calls_per_us": "calls a µs"},
    "cmd": {"value": "value", "wall_s": "wall s", "cpu_s": "CPU s"},
}


def fact_columns(summary: TrialsSummary) -> list[Column]:
    """Return the columns of what was counted or read."""
    return _FACTS[summary.workload]


def _flushes(one: PointFigures) -> str:
    found = one.facts.get("flushes_per_switch")
    return "–" if not isinstance(found, float) else f"{found:.3f}"


def _per_hop(one: PointFigures) -> str:
    hops, switches = one.facts.get("hops"), one.facts.get("switches")
    if not isinstance(hops, int) or not isinstance(switches, int) or not hops:
        return "–"
    return f"{switches / hops:.3f}"


def _backing(one: PointFigures) -> str:
    frames, backing = one.facts.get("frames"), one.facts.get("backing")
    if backing is None:
        return "–"
    many = "" if frames is None else f", {format_count(int(frames))} frames"
    target = one.facts.get("target_backing") or backing
    # A source that nothing was written to is never backed as what it is copied to.
    other = "" if target == backing or one.note else f"; of the target {target}"
    return f"{backing}{many}{other}"


def _calls(one: PointFigures) -> str:
    made = one.facts.get("system_call")
    return "not known" if made is None else "yes" if made else "no"


def _backward(one: PointFigures) -> str:
    steps, checks = one.facts.get("backward_steps"), one.facts.get("checks")
    if steps is None or checks is None:
        return "–"
    return f"{format_count(int(steps))} of {format_count(int(checks))}"


_FACTS: dict[str, list[Column]] = {
    "switch": [("switches a hop", _per_hop), ("flushes a switch", _flushes)],
    "memory": [("behind it", _backing), ("", lambda one: one.note)],
    "clock": [("system call", _calls), ("steps back", _backward)],
    "cmd": [],
}


def figure_keys(summary: TrialsSummary) -> dict[str, str]:
    """Return the figures that any point has, in their order, with the headings of their columns."""
    return {
        key: heading
        for key, heading in FIGURES[summary.workload].items()
        if any(key in one.figures for one in summary.points)
    }


#: By what counts are divided.
_WORK: dict[str, str] = {
    "switch": "a hop",
    "memory": "a pass",
    "clock": "a call",
    "cmd": "",
}


def counter_headings(summary: TrialsSummary) -> dict[str, str]:
    """Return the counters that any point has, and how their columns are headed."""
    names = dict.fromkeys(name for one in summary.points for name in one.counts)
    return {name: f"{name} {_WORK[summary.workload]}".rstrip() for name in names}


def _table(summary: TrialsSummary) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("", overflow="fold")
    keys = figure_keys(summary)
    unit = next((str(one.facts["unit"]) for one in summary.points if "unit" in one.facts), "")
    for key, heading in keys.items():
        shown = f"{heading} {plain(unit, 20)}".rstrip() if key == "value" else heading
        table.add_column(Text(shown), justify="right", overflow="fold")
    facts = fact_columns(summary)
    counters = counter_headings(summary)
    for heading, _ in facts:
        table.add_column(heading, overflow="fold")
    for heading in counters.values():
        table.add_column(Text(plain(heading, 40)), justify="right", overflow="fold")
    for one in summary.points:
        cells = [measured_cell(one.figures.get(key)) for key in keys]
        counts = [measured_cell(one.counts.get(name)) for name in counters]
        table.add_row(
            Text(plain(one.name, 80)),
            *(Text(value, style="bold") for value, _ in cells),
            *(Text(plain(say(one), 60)) for _, say in facts),
            *(Text(value) for value, _ in counts),
        )
        table.add_row(
            "",
            *(Text(interval, style="dim") for _, interval in cells),
            *("" for _ in facts),
            *(Text(interval, style="dim") for _, interval in counts),
        )
    return table


_SAID: dict[str, str] = {
    "switch": "A hop: the token goes from one task to the next. Alone: one task that passes it to "
    "itself as often. A switch: what a hop takes more than that, by the switches counted.",
    "memory": "GB/s of bytes copied, set or read: 10⁹ bytes, each counted once.",
    "clock": "Steps back: readings earlier than one that another thread had read before.",
}


def said(summary: TrialsSummary) -> list[str]:
    """Say what the figures are, in a line each."""
    lines = [_SAID[summary.workload]] if summary.workload in _SAID else []
    reasons = [one.facts.get("flushes_not_counted") for one in summary.points]
    why = next((str(one) for one in reasons if one), "")
    return [*lines, *([f"Flushes: {why}."] if why else [])]


def network_lines(one: NetworkFigures) -> list[str]:
    """Say what a fitted network says, predictions marked as such."""
    service, between = measured_cell(one.service_ns)
    think, _ = measured_cell(one.think_ns)
    interval = f" [{between}]" if between else ""
    threads = ", ".join(map(str, one.threads))
    fits = "" if one.misfit is None else f", off by × {one.misfit:.2f} at most"
    off = "" if one.off is None else f"; beyond those off by × {one.off:.2f}"
    fitted = f"closed network, fitted to {threads} threads{fits}{off}"
    shared = f"as if shared for {service} ns{interval} of each call, {think} ns not"
    lines = [f"{one.name}: {shared} ({fitted})"]
    if one.predicted:
        predicted = ", ".join(_predicted(each) for each in one.predicted)
        lines.append(f"  predicted, not measured, in calls a µs: {predicted}")
    return lines


def _predicted(one: Prediction) -> str:
    value, between = measured_cell(one.calls_per_us)
    return f"{one.threads} threads {value}{f' [{between}]' if between else ''}"
