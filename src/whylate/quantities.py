"""Format and parse numbers with units.

Texts for people have a true minus sign (U+2212), which is as wide as a plus sign.
"""

from __future__ import annotations

import math
import re

_MINUS = "−"
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_SIZES_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_LATENCY_UNITS = ("ns", "us", "µs", "μs", "ms", "s")
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([A-Za-zµμ]+)", re.ASCII)


def format_ns(ns: float, digits: int = 3) -> str:
    """Write a latency with `digits` significant digits: 412345 → "412 µs", -1200 → "−1.20 µs".

    Whole nanoseconds below 1 µs are exact and are written without decimals.
    """
    if not math.isfinite(ns):
        raise ValueError(f"cannot write {ns} as a time: it must be finite")
    sign = _MINUS if ns < 0 else ""
    size = abs(ns)
    scale, unit = _unit_of(size, digits)
    return f"{sign}{_in_unit(size, scale, digits)} {unit}"


def format_interval_ns(low: int | None, high: int | None, like_ns: float) -> str:
    """Write an interval in the unit of `like_ns`, without the unit: "11.9–12.8".

    An end that is None is not bounded: "11.9–∞", "≤ 12.8", and "" where neither end is.
    """
    if low is None and high is None:
        return ""
    scale, _ = _unit_of(abs(like_ns), 3)
    if low is None:
        return f"≤ {_signed_in_unit(high or 0, scale)}"
    ends = [_signed_in_unit(low, scale), "∞" if high is None else _signed_in_unit(high, scale)]
    # "−3.1–−2.9" reads as nothing: with a negative end the word is clearer than the dash.
    return " to ".join(ends) if _MINUS in "".join(ends) else "–".join(ends)


def format_span_ns(ns: int) -> str:
    """Write a planned time exactly: 1000000 → "1 ms", 5400e9 → "1 h 30 min"."""
    if ns < 0:
        return f"{_MINUS}{format_span_ns(-ns)}"
    if ns < 120_000_000_000:
        scale, unit = next(((s, u) for s, u in _UNITS if ns >= s), (1, "ns"))
        return f"{_trimmed(ns / scale, 3)} {unit}"
    seconds = round(ns / 1e9)
    parts = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts[:2])


def format_seconds(seconds: float) -> str:
    """Write an estimated time with two digits in the unit a person would choose: "2.4 h"."""
    if not math.isfinite(seconds):
        raise ValueError(f"cannot write {seconds} as a time: it must be finite")
    if seconds < 1:
        return format_ns(seconds * 1e9, 2)
    for size, unit in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{_significant(seconds / size, 2)} {unit}"
    return f"{_significant(seconds, 2)} s"


def format_count(count: int) -> str:
    """Write a whole number with its thousands marked: "120,000"."""
    return f"{count:,}".replace("-", _MINUS)


def format_number(value: float, digits: int = 4) -> str:
    """Format a number without an exponent: 1.234, 56.78, 1,234; "–" where it is not finite."""
    if not math.isfinite(value):
        return "–"
    if abs(value) < 5e-7:
        return "0"
    decimals = _decimals(value, digits)
    return _with_decimals(value, min(decimals, 6) if abs(value) < 1e-4 else decimals, trim=True)


def format_estimate(
    value: float, low: float | None = None, high: float | None = None
) -> tuple[str, str]:
    """Format a value and its interval with equal decimals: ("38.1", "[26.5, 45.5]").

    The narrower the interval, the more digits: 3 to 5. The interval is "" where it is not known.
    """
    if low is None or high is None or not all(map(math.isfinite, (value, low, high))):
        return format_number(value), ""
    width, size = high - low, max(abs(value), abs(low), abs(high))
    digits = min(5, max(3, 1 + math.ceil(math.log10(size / width)))) if width > 0 else 4
    decimals = _decimals(value, digits) if value else _decimals(size, 3)
    texts = [_with_decimals(number, min(decimals, 9)) for number in (value, low, high)]
    return texts[0], f"[{texts[1]}, {texts[2]}]"


def format_general(value: float, digits: int = 6) -> str:
    """Format a number with at most `digits` significant digits, as the format %g does."""
    return f"{value:.{digits}g}".replace("-", _MINUS)


def format_percent(share: float, decimals: int = 0, *, signed: bool = False) -> str:
    """Format a share: 0.958 → "96 %", with one decimal "95.8 %"; what rounds to 0 has no sign."""
    text = f"{abs(100 * share):.{decimals}f}"
    sign = "" if not text.strip("0.") else _MINUS if share < 0 else "+" if signed else ""
    return f"{sign}{text} %"


def format_amount(amount: float, unit: str) -> str:
    """Write an amount with its unit in SI steps: 1.21e9 bytes → "1.21 GB"."""
    if not math.isfinite(amount):
        return "–"
    sign = _MINUS if amount < 0 else ""
    size = abs(amount)
    prefixes = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    # 999.6 k would round to 1000 k: the step up is taken where rounding would take it.
    scale, prefix = next(((s, p) for s, p in prefixes if size >= s * 0.9995), (1.0, ""))
    number = _significant(size / scale, 3) if scale > 1 or size % 1 else f"{size:.0f}"
    if unit in ("bytes", "B"):
        return f"{sign}{number} {prefix}B"
    spaced = f" {prefix}" if prefix else ""
    return f"{sign}{number}{spaced} {unit}".rstrip()


def format_rate(per_second: float | None, unit: str) -> str:
    """Write work per second: "1.21 GB/s", "12.3 k switches/s"; "–" where none was measured."""
    if per_second is None or not math.isfinite(per_second):
        return "–"
    return f"{format_amount(per_second, unit)}/s"


def parse_ns(text: str, *, latency: bool) -> int | None:
    """Parse "100us" or "1.5 ms" as whole ns; None where the text is invalid or not above zero.

    latency: only the units ns to s; otherwise also min or m, h and d. Parts of a nanosecond are
    invalid.
    """
    from fractions import Fraction

    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = match.groups()
    if unit not in _SIZES_NS or (latency and unit not in _LATENCY_UNITS):
        return None
    ns = Fraction(number) * _SIZES_NS[unit]
    return int(ns) if ns.denominator == 1 and 0 < ns < 10**18 else None


def format_exact_ns(ns: int) -> str:
    """Format a duration so that `parse_ns` reads the same: "100us", "1500ns", "10s"."""
    for unit in ("h", "min", "s", "ms", "us"):
        if ns % _SIZES_NS[unit] == 0:
            return f"{ns // _SIZES_NS[unit]}{unit}"
    return f"{ns}ns"


def format_short_ns(ns: int) -> str:
    """Format a latency for a sentence, four digits without trailing zeros: "95.31 µs"."""
    sign, size = (_MINUS, -ns) if ns < 0 else ("", ns)
    for scale, unit in _UNITS[:-1]:
        if size >= scale:
            return f"{sign}{size / scale:.4g} {unit}"
    return f"{sign}{size} ns"


def format_rough_ns(ns: int) -> str:
    """Format a latency that is known to a tenth or less, two digits: "310 µs"."""
    return format_short_ns(int(float(f"{ns:.1e}")))


def format_seconds_down(seconds: float) -> str:
    """Format a time rounded down: "3.3 s", "47 min", "12 h", "9.0 days".

    "Less often than once in ..." must not claim more than is known.
    """
    if seconds < 1:
        return format_rough_ns(int(seconds * 1e9))
    size, unit = _span_unit(seconds)
    value = seconds / size
    return (
        f"{math.floor(value * 10) / 10:.1f} {unit}" if value < 10 else f"{math.floor(value)} {unit}"
    )


def format_seconds_up(seconds: float) -> str:
    """Format a time that is needed, rounded up: "3.3 s", "47.1 min", "3.0 h"."""
    size, unit = _span_unit(seconds)
    return f"{math.ceil(seconds / size * 10) / 10:.1f} {unit}"


def _span_unit(seconds: float) -> tuple[int, str]:
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return size, unit
    return 86_400, "days"


def _unit_of(size: float, digits: int) -> tuple[int, str]:
    """Find the largest unit in which the rounded size is at least 1."""
    for scale, unit in _UNITS[:-1]:
        # Half a unit in the last digit below 1 is written as 1.00 of this unit, not as 1000.
        if size >= scale * (1 - 0.5 * 10.0**-digits):
            return scale, unit
    return _UNITS[-1]


def _signed_in_unit(ns: float, scale: int) -> str:
    return (_MINUS if ns < 0 else "") + _in_unit(abs(ns), scale, 3)


def _in_unit(size: float, scale: int, digits: int) -> str:
    if scale == 1 and float(size).is_integer():
        return f"{size:.0f}"
    return _significant(size / scale, digits)


def _significant(number: float, digits: int) -> str:
    if number == 0:
        return "0"
    # Rounded first, so that 9.996 counts as having two digits before the point.
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(rounded)))
    whole = round(number) if rounded >= 10**digits else rounded
    return f"{whole:,.{min(decimals, 6)}f}"


def _trimmed(number: float, decimals: int) -> str:
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".")


def _decimals(value: float, digits: int) -> int:
    """Return the decimals that show so many significant digits of a value other than 0."""
    return max(0, digits - 1 - math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}")))))


def _with_decimals(value: float, decimals: int, *, trim: bool = False) -> str:
    text = f"{abs(value):,.{decimals}f}"
    if trim and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{_MINUS}{text}" if value < 0 and text.strip("0.,") else text
