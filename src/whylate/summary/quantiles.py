"""The quantiles of a summary."""

from __future__ import annotations

from fractions import Fraction

#: The quantiles that are printed and that requirements may name.
QUANTILES = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p99": Fraction(99, 100),
    "p99.9": Fraction(999, 1000),
    "p99.99": Fraction(9999, 10_000),
}
