"""The figures of the benchmark `flush`: what a victim loses for each flush of another CPU."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from whylate.quantities import format_count, format_percent
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.flush import FlushPoint
from whylate.summary.benchmarks.model import Fact, Finding, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of_turns,
)
from whylate.summary.workloads.switch import Machine, read_machine

#: Least flushes of a call in the victim's address space, and most of a call elsewhere: with others
#: the figures are refused.
LEAST_MADE, _MOST_ELSEWHERE = 0.5, 0.1


class FlushSummarizer(BenchmarkSummarizer):
    """What a victim's work takes longer while its address space is changed elsewhere."""

    title = "What a flush costs the CPU that did not ask for it"
    counts_per = "call"
    swept = ("pages", "pages")
    positive = ("shared_ns", "other_ns", "idle_ns", "shared_units", "other_units", "idle_units")
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "ns_per_flush": FigureKind("ns/flush", "ns", plot="ns that a flush costs another CPU"),
        "other_ns_per_call": FigureKind("elsewhere, ns/call", "ns"),
        "lost": FigureKind("time lost"),
    }

    def invalid(self, rows: Repetitions) -> str | None:
        """Return why rows are invalid: without work, or without a call."""
        for kind in ("shared", "other"):
            if (rows.column(f"{kind}_calls") <= 0).any():
                return "the caller made no call in a block: use a longer --block"
        return super().invalid(rows)

    def measure(
        self, point: FlushPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return the price of a flush, and whether flushes were made."""
        shared, other, idle = (_Block(rows, kind) for kind in ("shared", "other", "idle"))
        lost_ns = shared.ns - shared.units * other.ns / other.units
        elsewhere_ns = other.ns - other.units * idle.ns / idle.units
        figures = {
            "ns_per_flush": median_of_turns(rows, lost_ns / _made(shared, reports)),
            "other_ns_per_call": median_of_turns(rows, elsewhere_ns / other.calls),
            "lost": median_of_turns(rows, lost_ns / shared.ns),
        }
        if point.is_switch:
            machine = read_machine(self.manifest)
            facts, refused = _counted_switches(shared, other, reports, machine)
        else:
            facts, refused = _counted(shared, other, reports)
        return Measurement(figures, facts, refused)

    @classmethod
    def kind(cls, key: str, point: FlushPoint) -> FigureKind:
        """Return how a figure is shown: elsewhere is between threads, where tasks switch."""
        if point.is_switch and key == "other_ns_per_call":
            return FigureKind("threads, ns/switch", "ns")
        if point.is_switch and key == "ns_per_flush":
            return FigureKind("ns/flush", "ns")
        return super().kind(key, point)

    def work(self, rows: Repetitions) -> Floats:
        """Return the calls of each row in the victim's address space."""
        return np.maximum(rows.column("shared_calls"), 1).astype(np.float64)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return how many flushes were counted for each call."""
        del note
        made, calls = facts.get("flushes_per_switch"), facts.get("switches")
        if isinstance(calls, int):
            counted = f"{made:.3f}" if isinstance(made, float) else "not counted"
            return {"flushes/switch": counted, "switches": format_count(calls)}
        made, calls = facts.get("flushes_per_call"), facts.get("calls")
        if not isinstance(calls, int):
            return {}
        counted = f"{made:.3f}" if isinstance(made, float) else "not counted"
        return {"flushes/call": counted, "calls": format_count(calls)}

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return what the figures are, and why flushes were not counted."""
        reasons = [point.facts.get("flushes_not_counted") for point in points]
        reason = next((reason for reason in reasons if reason), None)
        text = (
            "A flush: what the victim's work takes longer while its own address space is changed, "
            "beside the same calls in another one. Elsewhere: what those take beside no calls."
        )
        switches = (
            "Of switches, a flush: what the victim's work takes longer while processes are "
            "switched, beside as many threads. Threads: what those take beside no switches."
        )
        return {
            "notes": [
                *([text] if any(not _is_switch(point) for point in points) else []),
                *([switches] if any(map(_is_switch, points)) else []),
                *([f"Flushes: {reason}."] if reason else []),
            ],
            "findings": [*_findings(measured)],
        }


class _Block:
    """The blocks of a kind. ns, units, calls, flushes: float64, shape (rows,)."""

    def __init__(self, rows: Repetitions, kind: str) -> None:
        self._rows, self._kind = rows, kind
        self.ns, self.units = self._column("ns"), self._column("units")
        if kind != "idle":
            self.calls, self.flushes = self._column("calls"), self._column("flushes")

    def _column(self, name: str) -> Floats:
        return self._rows.column(f"{self._kind}_{name}").astype(np.float64)


def _made(shared: _Block, reports: Sequence[TurnReport]) -> Floats:
    """Return the flushes of each row: those that were counted, else the calls; at least 1."""
    is_counted = all(report.counting_error == 0 for report in reports)
    return np.maximum(shared.flushes if is_counted else shared.calls, 1.0)


def _counted(
    shared: _Block, other: _Block, reports: Sequence[TurnReport]
) -> tuple[dict[str, Fact], str | None]:
    """Return what was counted, and why the figures are refused; None: they are not."""
    facts: dict[str, Fact] = {
        "calls": int(shared.calls.sum()),
        "other_calls": int(other.calls.sum()),
    }
    errors = [report.counting_error for report in reports if report.counting_error is not None]
    error = next((error for error in errors if error), 0)
    if error or not errors:
        return {**facts, "flushes_per_call": None, "flushes_not_counted": _reason(error)}, None
    made = float(shared.flushes.sum() / shared.calls.sum())
    elsewhere = float(other.flushes.sum() / other.calls.sum())
    facts |= {"flushes_per_call": made, "other_flushes_per_call": elsewhere}
    if made < LEAST_MADE:
        return facts, (
            f"only {made:.3f} flushes a call were counted on the victim's CPU: other programs run "
            "there (the victim may not be SCHED_FIFO), or the hardware carries flushes there"
        )
    if elsewhere > _MOST_ELSEWHERE:
        return facts, (
            f"{elsewhere:.3f} flushes a call were counted on the victim's CPU while another "
            "address space was changed: other programs flush there too"
        )
    return facts, None


def _is_switch(point: PointFigures) -> bool:
    return isinstance(point.point, FlushPoint) and point.point.is_switch


def _counted_switches(
    shared: _Block, other: _Block, reports: Sequence[TurnReport], machine: Machine
) -> tuple[dict[str, Fact], str | None]:
    """Return what was counted of switches, and why the figures are refused; None: they are not."""
    victims = [report.victim_flushes for report in reports if report.victim_flushes is not None]
    is_seen = bool(victims) and not any(victim.error for victim in victims)
    facts: dict[str, Fact] = {
        "switches": int(shared.calls.sum()),
        "other_switches": int(other.calls.sum()),
        "victim_flushes": sum(victim.shared for victim in victims) if is_seen else None,
    }
    errors = [report.counting_error for report in reports if report.counting_error is not None]
    error = next((error for error in errors if error), 0)
    if error or not errors:
        reason = (
            "this kernel does not count flushes at switches (only x86 has tlb:tlb_flush)"
            if error == errno.ENOENT
            else f"not counted: {os.strerror(error)}"
        )
        facts |= {"flushes_per_switch": None, "flushes_not_counted": reason}
        return facts, f"{reason}: {_unknown_flushes(machine)}"
    made = float(shared.flushes.sum() / shared.calls.sum())
    between_threads = float(other.flushes.sum() / other.calls.sum())
    facts |= {
        "flushes": int(shared.flushes.sum()),
        "flushes_per_switch": made,
        "other_flushes_per_switch": between_threads,
    }
    if made < LEAST_MADE:
        return facts, (
            f"only {made:.3f} of the switches flushed: the CPU has identifiers for so many address "
            "spaces (6 on x86), so that there is no flush to pay for; use more --tasks"
        )
    if between_threads > _MOST_ELSEWHERE:
        return facts, (
            f"{between_threads:.3f} of the switches between threads flushed: other programs take "
            "turns on the caller's CPU"
        )
    return facts, None


def _unknown_flushes(machine: Machine) -> str:
    """Return what is known of flushes at switches that are not counted."""
    if not machine.is_arm:
        return "whether there was a flush to pay for is not known"
    entries = f"its {machine.asid_entries:,}" if machine.asid_entries else "all"
    return (
        f"an Arm kernel flushes when it has used up {entries} identifiers of address spaces, and "
        "then each CPU does at its own next switch, which the victim does not make"
    )


def _reason(error: int) -> str:
    if error == errno.ENOENT:
        return (
            "not counted, for only x86 interrupts a CPU to flush; elsewhere the hardware carries a "
            "flush to all CPUs, also those of the other address space"
        )
    return f"not counted: {os.strerror(error)}" if error else "they were not counted"


def _findings(points: Sequence[PointFigures]) -> Iterator[Finding]:
    """Yield the price of flushes; where they are not counted, also that of calls elsewhere."""
    for point in points:
        price, lost = point.figures["ns_per_flush"], point.figures["lost"]
        if _is_switch(point) and price.low is not None and price.high is not None:
            yield _switch_finding(point, price.value, price.low, price.high)
            continue
        if price.low is not None and price.low > 0 and price.high is not None:
            yield Finding(
                "flush-price",
                f"{point.name}: each costs the other CPU {price.value:.4g} ns "
                f"[{price.low:.4g}, {price.high:.4g}], here {format_percent(lost.value, 1)} of its "
                "time",
            )
        elsewhere = point.figures["other_ns_per_call"]
        is_counted = point.facts.get("flushes_per_call") is not None
        if not is_counted and elsewhere.low is not None and elsewhere.low > 0:
            yield Finding(
                "elsewhere-price",
                f"{point.name}: each in another address space costs the other CPU "
                f"{elsewhere.value:.4g} ns [{elsewhere.low:.4g}, {elsewhere.high or 0:.4g}]: for "
                "flushes that are carried to all CPUs, or for caches and memory",
            )


def _switch_finding(point: PointFigures, value: float, low: float, high: float) -> Finding:
    """Return what flushes at switches on one CPU cost another: nothing, where 0 is inside."""
    assert isinstance(point.point, FlushPoint)  # noqa: S101 (chosen by its type)
    caller, victim = point.point.cpus
    interval = f"{_ns_text(value)} ns [{_ns_text(low)}, {_ns_text(high)}] each"
    flushes, reached = int(point.facts.get("flushes") or 0), point.facts.get("victim_flushes")
    interrupts = (
        f"; CPU {victim} was interrupted to flush {format_count(int(reached))} times"
        if reached is not None
        else ""
    )
    made = f"{point.name}: {format_count(flushes)} flushes on CPU {caller}"
    if low > 0:
        return Finding("switch-flush-price", f"{made} cost CPU {victim} {interval}{interrupts}")
    if high < 0:
        return Finding(
            "switch-flush-gain",
            f"{made}: CPU {victim} works faster than beside threads, {interval}: what the tasks do "
            f"to caches and memory differs{interrupts}",
        )
    return Finding(
        "switch-flush-local",
        f"{made} show no cost to CPU {victim}: {interval}, and 0 is inside. A flush at a switch is "
        f"of its own CPU alone{interrupts}",
    )


def _ns_text(ns: float) -> str:
    return f"{ns:,.0f}" if abs(ns) >= 100 else f"{ns:.3g}"
