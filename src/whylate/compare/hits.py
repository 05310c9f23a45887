"""Did the changed code run? Hits of functions and tracepoints, and lines of the facts, by side.

A side that must have hits, and has a run without one, gives no verdict: what was to be compared did
not happen there. A side that should have none, and has some, is reported; where that was asked for
it gives no verdict either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import median

import msgspec

from whylate.compare.model import HitRow, HitSide, SideDemand
from whylate.compare.runs import Arm, Run
from whylate.quantities import format_count
from whylate.recording.hits import look_up, parse_fact_line
from whylate.recording.manifest import HitReport

_ARMS = r"[A-Za-z0-9][\w.+-]{0,39}(?:,[A-Za-z0-9][\w.+-]{0,39})*"
_DEMAND = re.compile(rf"(?P<name>\S.{{0,299}}?)(?: (?P<only>only )?in (?P<arms>{_ARMS}))?")


class HitDemand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which arms must have hits, by their names; none: all. only: hits elsewhere: no verdict."""

    name: str
    arms: list[str] = []
    only: bool = False


def parse_demand(text: str) -> HitDemand:
    """Return the demand of "NAME", "NAME in B" or "NAME only in B"; raises ValueError."""
    match = _DEMAND.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text[:60]!r}: write NAME, 'NAME in B' or 'NAME only in B'")
    arms = (match["arms"] or "").split(",")
    return HitDemand(match["name"], [arm for arm in arms if arm], bool(match["only"]))


def demands_of_sides(
    demands: Sequence[HitDemand], first: str, second: str
) -> tuple[SideDemand, ...]:
    """Return what is asked of two arms, by their names."""
    return tuple(
        SideDemand(
            demand.name,
            not demand.arms or first in demand.arms,
            not demand.arms or second in demand.arms,
            demand.only,
        )
        for demand in demands
    )


@dataclass(frozen=True)
class HitFindings:
    """Hits of two sides: their rows, why there is no verdict, and what else to say."""

    rows: list[HitRow]
    why_not: str | None
    cautions: list[str]


def compare_hits(first: Arm, second: Arm, demands: Sequence[SideDemand]) -> HitFindings:
    """Look at the hits that are demanded, and at all others that every run has counted."""
    asked = {demand.name: demand for demand in demands}
    runs = [*first.runs, *second.runs]
    counted = [hit.name for hit in runs[0].hits if all(_hit(run, hit.name) for run in runs)]
    rows: list[HitRow] = []
    refusals: list[str] = []
    cautions: list[str] = []
    for name in dict.fromkeys([*asked, *counted]):
        demand = asked.get(name)
        sides = []
        for label, arm, wanted in (
            ("A", first, demand is not None and demand.first),
            ("B", second, demand is not None and demand.second),
        ):
            reports = [_hit(run, name) for run in arm.runs]
            sides.append(_side(reports, wanted=None if demand is None else wanted))
            if demand is None:
                continue
            text = _missing(name, label, arm, reports) if wanted else _extra(name, label, reports)
            if text is not None:
                (refusals if wanted or demand.only else cautions).append(text)
        rows.append(HitRow(name, *sides))
    return HitFindings(rows, "; ".join(refusals) or None, cautions)


def _hit(run: Run, name: str) -> HitReport | None:
    """Return what a run knows of a hit; None where nothing was asked of it."""
    for hit in run.hits:
        if hit.name == name:
            return hit
    line = parse_fact_line(name)
    return None if line is None or not run.facts else look_up(name, line, run.facts)


def _side(reports: Sequence[HitReport | None], *, wanted: bool | None) -> HitSide:
    counts = [hit.count for hit in reports if hit is not None and hit.count is not None]
    return HitSide(
        runs=len(reports),
        known=len(counts),
        with_hits=sum(count > 0 for count in counts),
        median=float(median(counts)) if counts else None,
        least=min(counts, default=None),
        most=max(counts, default=None),
        expected=wanted,
    )


def _missing(name: str, label: str, arm: Arm, reports: Sequence[HitReport | None]) -> str | None:
    """Say which runs lack hits that they must have; None where none does."""
    is_line = parse_fact_line(name) is not None
    without = [number for number, hit in enumerate(reports) if hit is None or not hit.count]
    if not without:
        return None
    unknown = [at for at in without if (hit := reports[at]) is None or hit.count is None]
    at = unknown[0] if unknown else without[0]
    hit = reports[at]
    which = f"{len(unknown or without)} of {len(reports)} runs of {label}"
    if hit is None:
        advice = "" if is_line else ": measure with --hits"
        return f"{name} was not counted in {which} ({PurePath(arm.runs[at].name).name}){advice}"
    reason = f" ({hit.why})" if hit.why else ""
    if unknown:
        return (
            f"whether {name} is not known in {which}{reason}"
            if is_line
            else (f"hits of {name} are not known in {which}{reason}")
        )
    if is_line:
        return f"{name} is not so in {which}: what is compared is not what was meant to be"
    return f"{name} was never hit in {which}, which should have hits{reason}"


def _extra(name: str, label: str, reports: Sequence[HitReport | None]) -> str | None:
    """Say which runs have hits that they should not have; None where none has."""
    is_line = parse_fact_line(name) is not None
    unknown = sum(hit is None or hit.count is None for hit in reports)
    counts = [hit.count for hit in reports if hit is not None and hit.count]
    if counts:
        which = f"{len(counts)} of {len(reports)} runs of {label}"
        if is_line:
            return f"{name} is so in {which} too, where it should not be"
        each = format_count(round(median(counts)))
        return f"{name} was hit in {which} too (about {each} times a run), which should have none"
    if unknown:
        return (
            f"nothing says that {name} had no hits in {unknown} of {len(reports)} runs of {label}"
        )
    return None


def unmet_demands(arms: Sequence[Arm], demands: Sequence[HitDemand]) -> str | None:
    """Say which arms lack hits that they must have, or have hits that they must not; or None."""
    texts = []
    for demand in demands:
        for arm in arms:
            reports = [_hit(run, demand.name) for run in arm.runs]
            if not demand.arms or arm.name in demand.arms:
                texts.append(_missing(demand.name, arm.name, arm, reports))
            elif demand.only:
                texts.append(_extra(demand.name, arm.name, reports))
    return "; ".join(filter(None, texts)) or None
