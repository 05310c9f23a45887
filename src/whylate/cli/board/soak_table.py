"""A soak's summary, printed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path

from rich.table import Table
from rich.text import Text

from whylate.quantities import format_ns, format_short_ns
from whylate.report.plain_console import plain_console
from whylate.soak.clock_window import ClockWindows
from whylate.soak.comparison import ComparisonSummary
from whylate.soak.summary import (
    FLAT_BYTES,
    BootStages,
    Failed,
    Figures,
    Flashes,
    Memory,
    Rate,
    SeenCause,
    SoakSummary,
    Times,
    UnreadLogs,
)
from whylate.stats.comparison.rarer_side import least_counts
from whylate.text import plain

#: Rows of figures; a sweep may have thousands of points.
MOST_FIGURES = 20


def print_table(summary: SoakSummary, directory: Path, ended: str, card: str = "") -> None:
    """Print the summary of a soak so far; card: what its board's card has."""
    console = plain_console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    interrupted = f", and {summary.interrupted} interrupted by us" if summary.interrupted else ""
    table.add_row("board", Text(plain(summary.board, 80)))
    table.add_row("cycles", f"{summary.cycles}{interrupted}, in {duration(summary.seconds)}")
    _add_failures(table, summary)
    _add_flashes(table, summary.flashes)
    table.add_row("booted in", _times(summary.boot))
    _add_stages(table, summary.boot_stages)
    _add_windows(table, summary.clock_windows)
    if summary.reboot is not None:
        table.add_row("rebooted in", _times(summary.reboot))
    table.add_row("measuring after", _times(summary.measuring))
    if summary.late_starts:
        late = f"{summary.late_starts} runs made again: a thread came 20 ms late or more"
        table.add_row("late starts", late)
    if summary.run is not None:
        table.add_row("ran for", _times(summary.run))
    for figures in summary.figures[:MOST_FIGURES]:
        table.add_row(Text(f"  {plain(figures.name, 60)}"), _figures(figures))
    if (more := len(summary.figures) - MOST_FIGURES) > 0:
        table.add_row("", f"{more} more figures are in --json")
    if summary.expected:
        highest = f", longest latency {format_ns(summary.max_ns)}" if summary.max_ns else ""
        lost = f", {summary.dropped} dropped" if summary.dropped else ""
        table.add_row(
            "wakeups", f"{summary.expected} expected, {summary.overrun} overruns{lost}{highest}"
        )
    _add_logs(table, summary)
    if summary.memory is not None:
        table.add_row("host memory", _memory(summary.memory))
    if card:
        table.add_row("card", Text(card))
    table.add_row("kept in", Text(plain(str(directory), 1000)))
    console.print(table)
    if ended:
        console.print(Text(f"The soak was {ended}."))


def print_comparison(summary: ComparisonSummary, directory: Path, ended: str) -> None:
    """Print a comparison so far. ended: why it ended before it was decided; "": it did not."""
    console = plain_console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for letter, side in zip("AB", summary.sides, strict=True):
        table.add_row(letter, Text(plain(side.name, 80)))
        table.add_row("  crashes", _rate(side.crashes))
        for failed in side.soak.kinds:
            counted = "" if failed.kind in summary.counted else ", not compared"
            row = Text(f"{failed.rate.count} of {failed.rate.of}{counted}, ")
            table.add_row(f"    {failed.kind}", row.append_text(_first(failed)))
        if side.soak.kernel_logs_unread is not None:
            table.add_row("  kernel log", _unread(side.soak.kernel_logs_unread))
        if side.soak.run is not None:
            table.add_row("  ran for", _times(side.soak.run))
        for figures in side.soak.figures[:MOST_FIGURES]:
            table.add_row(Text(f"    {plain(figures.name, 60)}"), _figures(figures))
    pairs = summary.pairs
    table.add_row(
        "pairs",
        f"{pairs.count}: A alone crashed in {pairs.first_alone}, B alone in {pairs.second_alone}, "
        f"both in {pairs.both}",
    )
    table.add_row("kept in", Text(plain(str(directory), 1000)))
    console.print(table)
    console.print(_verdict(summary))
    if ended:
        console.print(Text(f"The comparison was {ended}. The same command resumes it."))


def _verdict(summary: ComparisonSummary) -> Text:
    pairs = summary.pairs
    error = f"error rate {100 * summary.error_rate:g} %, all looks together"
    if pairs.verdict == "inconclusive":
        rarer, oftener = sorted((pairs.first_alone, pairs.second_alone))
        missing = least_counts(rarer)[rarer] - oftener
        text = f"inconclusive: {missing} more crashes of one side alone would decide"
        return Text(text, "yellow")
    worse, style = ("more", "red") if pairs.verdict == "worse" else ("less", "green")
    return Text(f"{pairs.verdict}: B crashes {worse} often than A ({error})", style)


def _cause(failed: Failed, cause: SeenCause) -> Text:
    """Return how often a cause was seen, where it is not the only one, and its first report."""
    only = cause.rate.count == failed.rate.count
    text = Text() if only else Text.assemble(_rate(cause.rate), "; ")
    if cause.events > cause.rate.count:
        text.append(f"seen {'at least ' if cause.at_least else ''}{cause.events} times, ")
    return Text.assemble(text, _first(cause))


def _first(failed: Failed | SeenCause) -> Text:
    return Text(f"first in cycle {failed.first_cycle}: {plain(failed.why, 300)}")


def _figures(figures: Figures) -> Text:
    def shown(value: float) -> str:
        if figures.unit == "ns":
            return format_short_ns(round(value))
        return f"{value:,.4g} {plain(figures.unit, 20)}".rstrip()

    return _spread(
        figures.median, figures.low, figures.high, (figures.min, figures.max), shown, shown
    )


def _spread(
    median: float,
    low: float | None,
    high: float | None,
    ends: tuple[float, float],
    shown: Callable[[float], str],
    within: Callable[[float], str],
) -> Text:
    """Return a median with its limits, and the least and the most; within: how limits are shown."""
    limits = "" if low is None or high is None else f" ({within(low)} to {within(high)}, 95 %)"
    least, most = map(shown, ends)
    return Text(f"median {shown(median)}{limits}, least {least}, most {most}")


def _rate(rate: Rate) -> Text:
    if not rate.of:
        return Text("no complete cycle", "yellow")
    counted = f"{rate.count} of {rate.of}"
    if not rate.count:
        text = f"{counted}: rate below {percent(rate.high, ROUND_CEILING)} (95 %)"
        if rate.hourly is not None:
            text += f", below {rounded(rate.hourly.high, ROUND_CEILING)} an hour"
        return Text(text, "green")
    low, high = percent(rate.low, ROUND_FLOOR), percent(rate.high, ROUND_CEILING)
    text = f"{counted}: rate {low} to {high} (95 %)"
    if rate.hourly is not None:
        hourly = rate.hourly
        text += (
            f", {rounded(hourly.per_hour, ROUND_HALF_EVEN)} an hour "
            f"({rounded(hourly.low, ROUND_FLOOR)} to {rounded(hourly.high, ROUND_CEILING)})"
        )
    return Text(text, "red")


def percent(rate: float, rounding: str) -> str:
    """Return a limit with two digits, rounded away from what it holds (decimal.ROUND_...)."""
    return f"{rounded(rate, rounding, 100)} %"


def rounded(value: float, rounding: str, times: int = 1) -> str:
    """Return a multiple of a number with two digits, rounded as told (decimal.ROUND_...)."""
    shown = Context(prec=2, rounding=rounding).multiply(Decimal(str(value)), times)
    return f"{float(shown):g}"


def _times(times: Times | None) -> Text:
    if times is None:
        return Text("never", "red")
    return _spread(
        times.median_s,
        times.low_s,
        times.high_s,
        (times.min_s, times.max_s),
        "{:.2f} s".format,
        "{:.2f}".format,
    )


def _consoles(summary: SoakSummary) -> Text:
    logs = summary.consoles
    text = Text(f"{logs.whole} whole")
    if logs.cut:
        text.append(f", {logs.cut} cut", "red")
    if logs.unknown:
        text.append(f", {logs.unknown} that end early or show no boot", "yellow")
    return text


def _add_failures(table: Table, summary: SoakSummary) -> None:
    table.add_row("failures", _rate(summary.failures))
    for failed in summary.kinds:
        table.add_row(f"  {failed.kind}", _rate(failed.rate))
        if not failed.causes:
            table.add_row("", _first(failed))
        for cause in failed.causes:
            table.add_row(Text(f"    {plain(cause.what, 60)}"), _cause(failed, cause))


def _add_flashes(table: Table, flashes: Flashes | None) -> None:
    if flashes is None:
        return
    count = flashes.took.count
    style = "" if flashes.verified == count else "red"
    text = _times(flashes.took)
    table.add_row(
        "flashed in", text.append(f"; {flashes.verified} of {count} read back as written", style)
    )
    if flashes.not_back:
        style = "yellow" if flashes.recovered == flashes.not_back else "red"
        recovered = f"{flashes.recovered} of {flashes.not_back}"
        table.add_row("recovered", Text(f"{recovered}, with the last good image", style))


def _add_stages(table: Table, boots: BootStages | None) -> None:
    """Add the steps of the boots, and which stages the console did not show."""
    if boots is None:
        return
    for step in boots.steps:
        name = plain(f"{step.before} → {step.name}", 80)
        text = _times(step.took)
        if step.took.count > 1:
            text.append(f" in cycle {step.worst_cycle}")
        if step.took.count < boots.boots:
            text.append(f"; in {step.took.count} of {boots.boots} boots", "yellow")
        table.add_row(Text(f"  {name}"), text)
    absent = [stage.name for stage in boots.stages if not stage.seen]
    if absent:
        table.add_row("  not seen", Text(plain(", ".join(absent), 300)))
    for stage in boots.stages:
        if stage.repeated:
            boots_text = (
                f"{stage.repeated} of {boots.boots} boots, first in cycle {stage.first_repeated}"
            )
            table.add_row(
                "  seen again", Text(plain(f"{stage.name} in {boots_text}", 200), "yellow")
            )


def _add_windows(table: Table, windows: ClockWindows | None) -> None:
    """Add lockups by how long a boot had no clock source, where there were any."""
    if windows is None or not windows.lockups + windows.unseen_lockups:
        return
    text = f"in {windows.lockups} of {windows.boots} boots; by the time without a clock source"
    if windows.groups:
        text += " (95 %, all rows together)"
    table.add_row("lockups, hangs", f"{text}:")
    for group in windows.groups:
        low, high = percent(group.low, ROUND_FLOOR), percent(group.high, ROUND_CEILING)
        table.add_row(
            f"  {group.least_s:.3f} to {group.most_s:.3f} s",
            Text(
                f"{group.lockups} of {group.boots}: rate {low} to {high}",
                "red" if group.lockups else "",
            ),
        )
    if windows.unseen:
        table.add_row("  not known", f"{windows.unseen_lockups} of {windows.unseen}")


def _add_logs(table: Table, summary: SoakSummary) -> None:
    table.add_row("console logs", _consoles(summary))
    if summary.kernel_logs_unread is not None:
        table.add_row("kernel log", _unread(summary.kernel_logs_unread))


def _unread(logs: UnreadLogs) -> Text:
    cycles = "1 cycle" if logs.count == 1 else f"{logs.count} cycles"
    first = f"first in cycle {logs.first_cycle}: {plain(logs.why, 300)}"
    return Text(f"not read in {cycles}, {first}", "yellow")


def _memory(memory: Memory) -> Text:
    first, last = memory.first_bytes / (1 << 20), memory.last_bytes / (1 << 20)
    most = memory.most_bytes / (1 << 20)
    text = Text(
        f"{first:.1f} MiB after cycle {memory.first_cycle}, {last:.1f} MiB after cycle "
        f"{memory.last_cycle}, {most:.1f} MiB at most"
    )
    if not memory.flat:
        text.append(f"; it grew by more than {FLAT_BYTES >> 20} MiB: whylate leaks", "red")
    return text


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
