"""Text of a comparison: changes in per cent, lists of names."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.compare.model import Scope, StatisticRow
from whylate.quantities import format_short_ns

_MINUS = "−"
#: Names that are listed one by one.
MOST_NAMES = 6


def change_text(row: StatisticRow) -> str:
    """Say by how much the second differs: "p99 is 12 % higher [+8.1 %, +16 %]"."""
    value = row.ratio
    if value is None:
        return row.name
    if row.linear:
        amount = amount_text(abs(value), row.unit)
        return f"{row.name} is {amount} {'higher' if value > 0 else 'lower'}{interval_text(row)}"
    size = abs(value - 1) * 100
    if value >= 3:
        return f"{row.name} is {value:.3g} times as high{interval_text(row)}"
    way = "higher" if value > 1 else "lower"
    return f"{row.name} is {digits(size)} % {way}{interval_text(row)}"


def interval_text(row: StatisticRow) -> str:
    """Write the 95 % interval of a row with its signs, or nothing where it has none."""
    if row.low is None or row.high is None:
        return ""
    if row.linear:
        return f" [{signed_text(row.low)}, {signed_text(row.high)}]"
    return f" [{percent_text(row.low)}, {percent_text(row.high)}]"


def percent_text(ratio: float) -> str:
    """Write a ratio as a change: 1.123 → "+12.3 %", 0.5 → "−50.0 %", 4.2 → "× 4.20"."""
    if ratio >= 3:
        return f"× {ratio:.3g}"
    size = (ratio - 1) * 100
    text = digits(abs(size))
    sign = "" if float(text) == 0 else "+" if size > 0 else _MINUS
    return f"{sign}{text} %"


def digits(size: float) -> str:
    """Write a percentage with three digits, down to its hundredths: "0.15", "2.30", "41.2".

    What is less, and is not nothing, has one digit: "0.004", "9e-08".
    """
    if 0 < size < 0.005:
        return f"{size:.1g}"
    decimals = next((n for n, least in ((0, 99.95), (1, 9.995)) if size >= least), 2)
    return f"{size:.{decimals}f}"


def amount_text(value: float, unit: str) -> str:
    """Write a value in its unit; times in ns in whatever unit suits them."""
    if unit == "ns":
        return format_short_ns(round(value))
    # All digits of a whole number, six of others.
    size = abs(value)
    number = f"{size:.0f}" if size >= 1e5 else f"{size:.6g}"
    return f"{_MINUS if value < 0 else ''}{number} {unit}".rstrip()


def signed_text(value: float) -> str:
    """Write a difference with its sign."""
    return f"{'+' if value >= 0 else _MINUS}{abs(value):.4g}"


def more_runs_text(more: int) -> str:
    """Say how many more runs would decide what is inconclusive."""
    return f"About {more} more run{'' if more == 1 else 's'} a side would decide."


def names_text(names: Sequence[str]) -> str:
    """Write "p50", "p50 and p99", "p50, p99 and max"; of many the first few."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def scope_text(scope: Scope) -> str:
    """Say of what an answer holds."""
    return {
        "boot": "in this boot",
        "boots": "over runs like these",
        "unknown": "over runs like these (which boots they are from is not known)",
    }[scope]
