"""The figures of the benchmark `switch`, and what flushes of the translation buffer show."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from whylate.quantities import format_count
from whylate.recording.flush_reasons import FLUSH_REASONS
from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.switch import SwitchPoint
from whylate.summary.benchmarks.model import (
    Fact,
    Finding,
    Measured,
    PointFigures,
    Remarks,
    setting_names,
)
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of_turns,
)
from whylate.summary.facts import fact_text, fact_value

#: With fewer switches per hop there is none to divide by.
_FEWEST_PER_HOP = 0.5
#: Shares of the switches that flush: few, and most. Between them is no limit.
_FEW, _MOST = 0.2, 0.5
#: What an x86 kernel keeps for each CPU (TLB_NR_DYN_ASIDS, arch/x86/include/asm/tlbflush.h).
_X86_IDENTIFIERS = 6
_FLUSHES_PLOT = "flushes of the translation buffer per switch"


class SwitchSummarizer(BenchmarkSummarizer):
    """A switch is what a hop takes more than a task alone, divided by the switches counted."""

    title = "What a switch to another task costs"
    counts_per = "hop"
    swept = ("tasks", "tasks")
    positive = ("hops", "ring_ns", "own_ns")
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "ns_per_switch": FigureKind("ns/switch", "ns", plot="ns per switch"),
        "ns_per_hop": FigureKind("ns/hop", "ns"),
        "own_ns_per_hop": FigureKind(),
        "more_ns_per_hop": FigureKind("more than alone"),
    }

    def measure(
        self, point: SwitchPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return times per hop and switch, and the flushes counted."""
        del point
        hops, switches = rows.column("hops").astype(float), rows.column("switches").astype(float)
        ring, own = rows.column("ring_ns").astype(float), rows.column("own_ns").astype(float)
        figures = {
            "ns_per_hop": median_of_turns(rows, ring / hops),
            "own_ns_per_hop": median_of_turns(rows, own / hops),
            "more_ns_per_hop": median_of_turns(rows, (ring - own) / hops),
        }
        if switches.all() and switches.sum() >= _FEWEST_PER_HOP * hops.sum():
            per_switch = median_of_turns(rows, (ring - own) / switches)
            figures = {"ns_per_switch": per_switch, **figures}
        facts: dict[str, Fact] = {"switches": int(switches.sum()), "hops": int(hops.sum())}
        return Measurement(figures, {**facts, **_flush_facts(reports), **_reason_facts(reports)})

    def work(self, rows: Repetitions) -> Floats:
        """Return the hops of each row."""
        return rows.column("hops").astype(float)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return switches per hop, and flushes per switch."""
        del note
        switches, hops = facts.get("switches"), facts.get("hops")
        known = isinstance(hops, int) and isinstance(switches, int) and hops
        flushes = facts.get("flushes_per_switch")
        return {
            "switches/hop": f"{switches / hops:.3f}" if known else "–",  # type: ignore[operator]
            "flushes/switch": f"{flushes:.3f}" if isinstance(flushes, float) else "–",
        }

    @classmethod
    def plotted_facts(cls, facts: Mapping[str, Fact]) -> dict[str, Measured]:
        """Return flushes per switch."""
        flushes = facts.get("flushes_per_switch")
        return {_FLUSHES_PLOT: Measured(flushes)} if isinstance(flushes, float) else {}

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Say what hops and switches are, why flushes were not counted, and what they show."""
        reasons = [point.facts.get("flushes_not_counted") for point in points]
        reason = next((reason for reason in reasons if reason), None)
        text = (
            "A hop: the token goes from one task to the next. Alone: one task passes it to itself. "
            "A switch: what a hop takes more than that, divided by the switches counted."
        )
        return {
            "notes": [
                text,
                *([f"Flushes: {reason}."] if reason else []),
                *_other_flushes(measured),
                *_traces(self.manifest),
            ],
            "findings": flush_findings(measured, read_machine(self.manifest)),
        }


def _other_flushes(points: Sequence[PointFigures]) -> Iterator[str]:
    """Yield how often CPUs flushed for other reasons than a switch, in the blocks of all points."""
    sums = {
        reason: sum(
            int(point.facts.get(f"flushes_{reason.replace(' ', '_').lower()}") or 0)
            for point in points
        )
        for reason in FLUSH_REASONS[1:]
    }
    texts = [f"{reason} {format_count(number)}" for reason, number in sums.items() if number]
    if texts:
        yield f"Flushes for other reasons than a switch: {', '.join(texts)}."


def _traces(manifest: Manifest) -> Iterator[str]:
    """Yield what is kept of the traces of turns, and why not of all."""
    asked = [report for report in manifest.turns if report.trace_error is not None]
    kept = [report for report in asked if report.trace_bytes]
    if kept:
        yield (
            f"Traces of switches: {len(kept)} turns, {sum(r.trace_bytes for r in kept) >> 10} KiB; "
            "whylate predict asid reads them."
        )
    error = next((report.trace_error for report in asked if report.trace_error), None)
    if error:
        yield f"Traces of switches: {os.strerror(error)}."


def _flush_facts(reports: Sequence[TurnReport]) -> dict[str, Fact]:
    counted = [report.flushes for report in reports if report.flushes is not None]
    error = next((flushes.error for flushes in counted if flushes.error), 0)
    if not counted or error:
        return {"flushes_per_switch": None, "flushes_not_counted": _reason_without_flushes(error)}
    flushes = sum(part.flushes for part in counted)
    switches = sum(part.switches for part in counted)
    return {
        "flushes": flushes,
        "flushes_per_switch": flushes / switches if switches else None,
    }


def _reason_facts(reports: Sequence[TurnReport]) -> dict[str, Fact]:
    """Return the flushes of each reason but a switch, which has facts of its own."""
    reported = [report.flush_reasons for report in reports if report.flush_reasons is not None]
    counted = [part.counts for part in reported if len(part.counts) == len(FLUSH_REASONS)]
    if not counted:
        return {}
    return {
        f"flushes_{reason.replace(' ', '_').lower()}": sum(counts[place] for counts in counted)
        for place, reason in enumerate(FLUSH_REASONS)
        if place
    }


def _reason_without_flushes(error: int) -> str:
    if error == errno.ENOENT:
        return "this kernel does not report them: only x86 has the tracepoint tlb:tlb_flush"
    if error == errno.EDOM:
        return "the tasks are not pinned, and flushes are counted by CPU"
    return os.strerror(error) if error else "they were not counted"


@dataclass(frozen=True)
class Machine:
    """What is known of the board; None: not known.

    name: as uname has it. asid_entries: the number of address spaces for which an Arm kernel
    reports identifiers. pcid: whether an x86 CPU has identifiers.
    """

    name: str | None = None
    asid_entries: int | None = None
    pcid: bool | None = None

    @property
    def is_arm(self) -> bool:
        """Whether it is Arm, of 32 bits or of 64."""
        return self.name is not None and self.name.startswith(("arm", "aarch64"))


def read_machine(manifest: Manifest) -> Machine:
    """Return what a manifest has of its board."""
    entries = fact_value(manifest, "asid_entries")
    features = fact_value(manifest, "cpu_features")
    return Machine(
        fact_text(manifest, "machine"),
        asid_entries=entries if isinstance(entries, int) else None,
        pcid="pcid" in features if isinstance(features, list | tuple) and features else None,
    )


def flush_findings(points: Sequence[PointFigures], machine: Machine) -> list[Finding]:
    """Return what flushes show, by the settings of all but the number of tasks."""
    findings = []
    for name, series in _series(points).items():
        setting = f" ({name})" if name else ""
        # One task alone is switched away from by other work only, and seldom.
        counted = [
            point
            for point in series
            if isinstance(_flushes(point), float) and _ring(point).tasks > 1
        ]
        few = [index for index, point in enumerate(counted) if _flushes(point) < _FEW]
        most = [index for index, point in enumerate(counted) if _flushes(point) >= _MOST]
        # All few lie before all of most, and what is neither between them: else it is no limit.
        if few and most and most[0] == len(counted) - len(most) and few[-1] == len(few) - 1:
            text = _cliff(counted[few[-1]], counted[most[0]], machine)
            findings.append(Finding("identifiers", text + setting))
        elif counted and len(most) == len(counted) and all(map(_shares_a_cpu, counted)):
            text = _always_flushed(counted[0], machine)
            findings.append(Finding("always-flushed", text + setting))
    if not findings and machine.is_arm and any(map(_shares_a_cpu, points)):
        findings.append(Finding("identifiers-not-observable", _not_observable(machine)))
    return findings


def _series(points: Sequence[PointFigures]) -> dict[str, list[PointFigures]]:
    """Return the points of each setting of all but the number of tasks, by tasks."""
    series: dict[str, list[PointFigures]] = defaultdict(list)
    for point, name in zip(points, setting_names(points), strict=True):
        series[name].append(point)
    for members in series.values():
        members.sort(key=lambda point: _ring(point).tasks)
    return series


def _flushes(point: PointFigures) -> float:
    return point.facts.get("flushes_per_switch")  # type: ignore[return-value]


def _ring(point: PointFigures) -> SwitchPoint:
    assert isinstance(point.point, SwitchPoint)  # noqa: S101 (chosen by its type)
    return point.point


def _shares_a_cpu(point: PointFigures) -> bool:
    """Whether several address spaces take turns on one CPU."""
    ring = _ring(point)
    return ring.tasks > 1 and not ring.threads and len(set(ring.cpus)) == 1


def _cliff(below: PointFigures, above: PointFigures, machine: Machine) -> str:
    few, many = _ring(below).tasks, _ring(above).tasks
    text = (
        f"with {few} tasks {_flushes(below):.3f} of the switches flush the CPU's translation "
        f"buffer, and with {many} tasks {_flushes(above):.3f}"
    )
    if not _shares_a_cpu(above):
        return text
    text += ": more address spaces take turns on the CPU than it has identifiers for"
    if machine.name == "x86_64" and few <= _X86_IDENTIFIERS < many:
        text += f", of which an x86 kernel keeps {_X86_IDENTIFIERS}"
    return text


def _always_flushed(fewest: PointFigures, machine: Machine) -> str:
    tasks = _ring(fewest).tasks
    text = (
        f"already with {tasks} tasks, the fewest of these, {_flushes(fewest):.3f} of the switches "
        "flush the CPU's translation buffer"
    )
    if machine.name != "x86_64":
        return text
    if machine.pcid is False:
        return f"{text}: this CPU, or what it is emulated by, has no identifiers (no pcid)"
    if tasks > _X86_IDENTIFIERS:
        return (
            f"{text}: an x86 kernel keeps identifiers for {_X86_IDENTIFIERS} address spaces on "
            f"each CPU; --tasks 2,{_X86_IDENTIFIERS},{tasks} shows what fewer cost"
        )
    return f"{text}: the kernel uses no identifiers (nopcid), or other tasks take turns there too"


def _not_observable(machine: Machine) -> str:
    # Of 32 bits they always have 8.
    entries = machine.asid_entries or (256 if (machine.name or "").startswith("armv") else None)
    identifiers = (
        f"it has identifiers for {entries:,} address spaces"
        if entries is not None
        else "identifiers of 8 or 16 bits are there for 256 or 65,536 address spaces, or for half "
        "of that where a process takes two"
    )
    return (
        f"flushes of the translation buffer are not observable on this kernel; {identifiers}, and "
        "flushes all CPUs when these have been used up"
    )
