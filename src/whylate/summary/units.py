"""Durations: read from a requirement, and written into a sentence."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_SIZES_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LATENCY_UNITS = ("ns", "us", "µs", "μs", "ms", "s")
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([A-Za-zµμ]+)", re.ASCII)


def parse_ns(text: str, *, latency: bool) -> int | None:
    """Read "100us" or "1.5 ms" as whole ns; None where it is none or not above zero.

    latency: only ns to s; otherwise also min and h. Parts of a nanosecond are refused.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = match.groups()
    if unit not in _SIZES_NS or (latency and unit not in _LATENCY_UNITS):
        return None
    ns = Fraction(number) * _SIZES_NS[unit]
    return int(ns) if ns.denominator == 1 and 0 < ns < 10**18 else None


def ns_text(ns: int) -> str:
    """Write a latency for a sentence with four digits: "95.31 µs"."""
    for unit in ("s", "ms", "µs"):
        if abs(ns) >= _SIZES_NS[unit]:
            return f"{ns / _SIZES_NS[unit]:.4g} {unit}"
    return f"{ns} ns"


def rough_ns_text(ns: int) -> str:
    """Write a latency that is known to a tenth or less, with two digits: "310 µs"."""
    return ns_text(int(float(f"{ns:.1e}")))


def span_text(seconds: float) -> str:
    """Write a time for a sentence rounded down: "3.3 s", "47 min", "12 h", "9.0 days"."""
    if seconds < 1:
        return ns_text(int(float(f"{seconds * 1e9:.1e}")))
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(seconds / 86_400)} days"


def needed_text(seconds: float) -> str:
    """Write a time that is needed, rounded up: "3.3 s", "47.1 min", "3.0 h"."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{math.ceil(seconds / size * 10) / 10:.1f} {unit}"
    return f"{math.ceil(seconds / 8640) / 10:.1f} days"


def exact_ns(ns: int) -> str:
    """Write a duration so that `parse_ns` reads the same: "100us", "1500ns", "10s"."""
    for unit in ("h", "min", "s", "ms", "us"):
        if ns % _SIZES_NS[unit] == 0:
            return f"{ns // _SIZES_NS[unit]}{unit}"
    return f"{ns}ns"


def count_text(count: int) -> str:
    """Write a count with thousands set off: "1,200,000"."""
    return f"{count:,}"


def _two_digits(value: float) -> str:
    # Rounded down: "less often than once in" must not promise more than is known.
    return f"{math.floor(value * 10) / 10:.1f}" if value < 10 else f"{math.floor(value)}"
