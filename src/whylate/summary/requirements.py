"""Requirements: `p99.9<100us`, `max<100us`, `over(100us)<1/10s`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whylate.quantities import parse_ns
from whylate.summary.quantiles import QUANTILES

_FORMS = "write it like p99.9<100us, max<100us or over(100us)<1/10s"
_LONGEST = 80
_LIMIT = re.compile(r"(?P<what>[A-Za-z0-9.]+)\s*(?P<sign><=|<|≤)\s*(?P<limit>.+)", re.ASCII)
_OVER = re.compile(
    r"over\s*\((?P<limit>[^()]*)\)\s*(?P<sign><=|<|≤)\s*1\s*/\s*(?P<every>.+)", re.ASCII
)


class RequirementError(ValueError):
    """An invalid requirement; its text is one line for the user."""


@dataclass(frozen=True)
class LatencyLimit:
    """`statistic` ("p50" to "p99.99", or "max") is below `limit_ns`, or inclusive at it."""

    text: str
    statistic: str
    limit_ns: int
    inclusive: bool

    def holds(self, value_ns: int) -> bool:
        """Whether a latency keeps the limit."""
        return value_ns <= self.limit_ns if self.inclusive else value_ns < self.limit_ns


@dataclass(frozen=True)
class RateLimit:
    """Episodes above `limit_ns` come less often than once in `every_ns`; inclusive: as often."""

    text: str
    limit_ns: int
    every_ns: int
    inclusive: bool


Demand = LatencyLimit | RateLimit


def parse_requirement(text: str) -> Demand:
    """Read one --require.

    Units of latency are ns, us, µs, ms and s; of the time in over() also min and h. Blanks do
    not matter; `<=` may be written `≤`. Raises RequirementError with one line: what is
    wrong and what would be right.
    """
    stripped = text.strip()
    shown = _shown(stripped)
    if len(stripped) > _LONGEST:
        raise RequirementError(f"requirement {shown} is too long: {_FORMS}")
    over = _OVER.fullmatch(stripped)
    if over is not None:
        every_ns = parse_ns(over["every"], latency=False)
        if every_ns is None:
            raise RequirementError(
                f"requirement {shown}: {_shown(over['every'])} is no duration above zero: "
                "write it like 500ms, 10s, 5min or 1h"
            )
        limit_ns = _latency(over["limit"], shown)
        return RateLimit(stripped, limit_ns, every_ns, over["sign"] != "<")
    limit = _LIMIT.fullmatch(stripped)
    if limit is None:
        raise RequirementError(f"requirement {shown} is not understood: {_FORMS}")
    if limit["what"] not in (*QUANTILES, "max"):
        raise RequirementError(
            f"requirement {shown}: {_shown(limit['what'])} is not one of "
            f"{', '.join(QUANTILES)}, max or over(LATENCY)"
        )
    limit_ns = _latency(limit["limit"], shown)
    return LatencyLimit(stripped, limit["what"], limit_ns, limit["sign"] != "<")


def _latency(text: str, requirement: str) -> int:
    limit_ns = parse_ns(text, latency=True)
    if limit_ns is None:
        raise RequirementError(
            f"requirement {requirement}: {_shown(text)} is no latency above zero in whole "
            "nanoseconds: write it like 800ns, 100us, 1.5ms or 1s"
        )
    return limit_ns


def _shown(text: str) -> str:
    """Quote what the user wrote on one line, shortened."""
    line = "".join(sign if sign.isprintable() else " " for sign in text[: _LONGEST + 1])
    return f"'{line[:_LONGEST]}…'" if len(text) > _LONGEST else f"'{line}'"
