"""Stretches with interrupts or preemption disabled, in words of the terminal and the page."""

from __future__ import annotations

from whylate.quantities import (
    format_count,
    format_percent,
    format_seconds,
    format_short_ns,
)
from whylate.summary.off import OffFigures, OffLine, OffMark, cost_text, join_lines
from whylate.text import plain

#: The headings of the tables, in order.
_MARK_COLUMNS = ("lasted", "ended at", "CPU", "thread", "ended in")
_BEGAN_COLUMNS = ("began in",)
BIN_COLUMNS = ("seen for", "stretches")
#: Of what samples show, beside that it was disabled.
_HANDLER = "a handler of an interrupt, until "


def line_columns(off: OffFigures) -> tuple[str, ...]:
    """Return the headings of the table of who ended the stretches."""
    columns = ("share", "together", f"≥ {format_short_ns(off.period_ns)}", "longest", "ended in")
    return columns + _began_columns(off)


def mark_columns(off: OffFigures) -> tuple[str, ...]:
    """Return the headings of the table of the longest."""
    return (_MARK_COLUMNS[:3] + _count_columns(off) + _MARK_COLUMNS[3:]) + _began_columns(off)


def mark_numbers(off: OffFigures) -> int:
    """Return how many columns of the table of the longest are numbers; they come first."""
    return 3 + len(_count_columns(off))


def _count_columns(off: OffFigures) -> tuple[str, ...]:
    """Return the counters, cycles an instruction, and the share of cycles of what stalls."""
    if not off.counters:
        return ()
    ratios = ["CPI"] if {"cycles", "instructions"} <= set(off.counters) else []
    return ("counted", *off.counters, *ratios, *(f"{name}/cycle" for name in _stalls(off)))


def _stalls(off: OffFigures) -> list[str]:
    if "cycles" not in off.counters:
        return []
    return [name for name in off.counters if "stall" in name]


def _counts(off: OffFigures, mark: OffMark) -> tuple[str, ...]:
    """Return what was counted of one of the longest, in the order of the columns."""
    columns = _count_columns(off)
    if not mark.counts:
        return ("–",) * len(columns)
    texts = [format_short_ns(mark.counted_ns)]
    texts += [format_count(mark.counts[name]) for name in off.counters]
    cycles, instructions = mark.counts.get("cycles", 0), mark.counts.get("instructions", 0)
    if "CPI" in columns:
        texts.append(f"{cycles / instructions:.2f}" if instructions else "–")
    for name in _stalls(off):
        texts.append(format_percent(mark.counts[name] / cycles, 1) if cycles else "–")
    return tuple(texts)


def _is_exact(off: OffFigures) -> bool:
    return off.method == "tracepoints"


def _began_columns(off: OffFigures) -> tuple[str, ...]:
    return _BEGAN_COLUMNS if _is_exact(off) else ()


def off_headline(off: OffFigures) -> str:
    """Say how long it was disabled, how that is known, and what that takes."""
    what = "Interrupts" if off.what == "irqs-off" else "Preemption"
    low, high = (format_short_ns(round(limit)) for limit in (off.low_ns, off.high_ns))
    if off.stretches is not None:
        return (
            f"{what} disabled for {format_short_ns(round(off.per_second_ns))} in a second of a "
            f"CPU, by the kernel's tracepoints: {format_count(off.stretches)} stretches, all of "
            f"them; {cost_text(off)}"
        )
    return (
        f"{what} disabled for {format_short_ns(round(off.per_second_ns))} [{low}–{high}] in a "
        f"second of a CPU, sampled every {format_short_ns(off.period_ns)}; {cost_text(off)}"
    )


def why_text(off: OffFigures) -> str:
    """Say why nothing better than samples was used; "" where that was wanted."""
    return f"Sampled, for {plain(off.why, 300)}." if off.why else ""


def quantile_text(off: OffFigures) -> str:
    """Say how long all stretches took; "" where only some were seen."""
    if not off.quantiles:
        return ""
    parts = [
        f"p{100 * each.quantile:g} {format_short_ns((each.low_ns + each.high_ns) // 2)}"
        for each in off.quantiles
    ]
    longest_ns = max((mark.high_ns for mark in off.longest), default=0)
    longest = f", the longest {format_short_ns(longest_ns)}" if longest_ns else ""
    return f"How long all of them took, within 3 %: {', '.join(parts)}{longest}."


def line_rows(off: OffFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of those that ended most; most: rows, and callers: in each."""
    return [
        (
            format_percent(line.share, 1),
            format_short_ns(line.total_ns),
            format_count(line.lasting),
            f"{_at_least(off)}{format_short_ns(line.longest_ns)}" if line.lasting else "–",
            _ended(line, callers),
            *_began(off, line, callers),
        )
        for line in join_lines(off.lines, callers)[:most]
    ]


def mark_rows(off: OffFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of the longest that was seen for a period."""
    return [
        (
            _length(mark),
            format_seconds(mark.at_ns / 1e9),
            str(mark.cpu),
            *_counts(off, mark),
            plain(f"{mark.comm}/{mark.pid}", 40),
            _ended(mark, callers),
            *_began(off, mark, callers),
        )
        for mark in off.longest[:most]
        if mark.low_ns >= off.period_ns
    ]


def bin_rows(off: OffFigures) -> list[tuple[str, ...]]:
    """Return a row for each length that any stretch of a period or more had."""
    return [
        (
            f"{format_short_ns(bin_.low_ns)} to {format_short_ns(bin_.high_ns)}",
            format_count(bin_.count),
        )
        for bin_ in off.bins
        if bin_.count
    ]


def more_lines(off: OffFigures, most: int, callers: int) -> str:
    """Say how many rows the table of who ended them leaves out; "" where none."""
    left = len(join_lines(off.lines, callers)) - most
    if left <= 0:
        return ""
    which = "1 more is" if left == 1 else f"{format_count(left)} more are"
    return f"{which} in the output of --json."


def _at_least(off: OffFigures) -> str:
    return "" if _is_exact(off) else "≥ "


def _length(mark: OffMark) -> str:
    if mark.low_ns == mark.high_ns:
        return format_short_ns(mark.low_ns)
    return f"{format_short_ns(mark.low_ns)} to {format_short_ns(mark.high_ns)}"


def _began(off: OffFigures, line: OffLine | OffMark, callers: int) -> tuple[str, ...]:
    if not _is_exact(off):
        return ()
    return (" ← ".join(plain(name, 80) for name in line.began[:callers]) or "–",)


def _ended(line: OffLine | OffMark, callers: int) -> str:
    path = " ← ".join(plain(name, 80) for name in line.callers[:callers]) or "all others"
    return f"{_HANDLER}{path}" if line.why == "handler" else path
