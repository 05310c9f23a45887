"""From the repetitions of a point to its figures."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.stats.median import median_interval
from whylate.summary.backing import HUGE_ZERO_PAGE, ZERO_PAGE, prove
from whylate.summary.trial_model import Fact, Measured, PointFigures

Floats = NDArray[np.float64]

#: With fewer switches for a hop there is none to divide by.
_FEWEST_PER_HOP = 0.5


def measured(rows: Repetitions, values: Floats) -> Measured:
    """Return the median over trials of the median of each; values: of the rows, shape (n,)."""
    found = median_interval(by_trial(rows, values))
    return Measured(found.value, found.low, found.high)


def by_trial(rows: Repetitions, values: Floats) -> Floats:
    """Return the median of each trial's values, in the order of the trials."""
    trials = rows.column("turn")
    return np.array([np.median(values[trials == one]) for one in np.unique(trials)])


def figures_of(
    name: str, point: BenchmarkPoint, rows: Repetitions, reports: Sequence[TurnReport]
) -> PointFigures:
    """Return what was measured at a point; rows and reports: those of its trials."""
    failed = next((one.error for one in reports if one.error), "")
    found = PointFigures(
        name=name,
        point=point,
        rounds=len(np.unique(rows.column("turn"))),
        repetitions=rows.n,
        refused=failed or (None if rows.n else "nothing was measured"),
    )
    if not rows.n:
        return found
    impossible = _impossible(point, rows)
    if impossible:
        return _with(found, refused=found.refused or impossible)
    figures = _FIGURES[type(point)](found, point, rows, reports)
    if figures.refused:
        return _with(figures, figures={}, counts={})
    work = _work(point, rows)
    counts = {
        counter: measured(rows, values.astype(np.float64) / work)
        for counter, values in rows.counts.items()
    }
    return _with(figures, counts=counts)


#: What each repetition must have some of, for there is nothing to divide by.
_NEEDED: dict[type[BenchmarkPoint], tuple[str, ...]] = {
    SwitchPoint: ("hops", "ring_ns", "own_ns"),
    MemoryPoint: ("passes", "ns"),
    ClockPoint: ("ns",),
    CommandPoint: (),
}


def _impossible(point: BenchmarkPoint, rows: Repetitions) -> str | None:
    """Say what no repetition can have been; None where each can."""
    for column in _NEEDED[type(point)]:
        none = int((rows.column(column) <= 0).sum())
        if none:
            return f"{none} of {rows.n} repetitions were told without any {column}"
    if isinstance(point, ClockPoint) and not rows.column("calls").any():
        return "no thread came to a call: ask for a longer --block"
    return None


def _in_each(rows: Repetitions, values: NDArray[np.int64]) -> Floats:
    """Return sums over the threads of a repetition, for each of its rows, shape (n,)."""
    places = rows.column("turn") * (1 << 20) + rows.column("repetition")
    _, which = np.unique(places, return_inverse=True)
    sums: Floats = np.bincount(which, values.astype(np.float64)).astype(np.float64)
    return sums[which]


def _work(point: BenchmarkPoint, rows: Repetitions) -> Floats:
    """Return by what the counts of a repetition are divided: each trial settles its own length."""
    if isinstance(point, SwitchPoint):
        return rows.column("hops").astype(np.float64)
    if isinstance(point, MemoryPoint):
        return rows.column("passes").astype(np.float64)
    if isinstance(point, ClockPoint):
        return np.maximum(_in_each(rows, rows.column("calls")), 1)
    return np.ones(rows.n)


def _with(found: PointFigures, **changes: object) -> PointFigures:
    import msgspec

    return msgspec.structs.replace(found, **changes)


def _switch(
    found: PointFigures, point: BenchmarkPoint, rows: Repetitions, reports: Sequence[TurnReport]
) -> PointFigures:
    del point
    hops, switches = rows.column("hops").astype(float), rows.column("switches").astype(float)
    ring, own = rows.column("ring_ns").astype(float), rows.column("own_ns").astype(float)
    figures = {
        "ns_per_hop": measured(rows, ring / hops),
        "own_ns_per_hop": measured(rows, own / hops),
        "more_ns_per_hop": measured(rows, (ring - own) / hops),
    }
    if switches.all() and switches.sum() >= _FEWEST_PER_HOP * hops.sum():
        figures = {"ns_per_switch": measured(rows, (ring - own) / switches), **figures}
    facts: dict[str, Fact] = {
        "switches": int(switches.sum()),
        "hops": int(hops.sum()),
    }
    counted = [one.flushes for one in reports if one.flushes is not None]
    error = next((one.error for one in counted if one.error), 0)
    if counted and not error:
        flushes = sum(one.flushes for one in counted)
        of = sum(one.switches for one in counted)
        facts |= {"flushes": flushes, "flushes_per_switch": flushes / of if of else None}
    else:
        facts |= {"flushes_per_switch": None, "flushes_not_counted": _why_no_flushes(error)}
    return _with(found, figures=figures, facts=facts)


def _why_no_flushes(error: int) -> str:
    if error == errno.ENOENT:
        return "this kernel does not tell of them: the tracepoint tlb:tlb_flush is of x86 alone"
    if error == errno.EDOM:
        return "tasks run wherever they are put, and flushes are counted by CPU"
    return os.strerror(error) if error else "they were not counted"


def _memory(
    found: PointFigures, point: BenchmarkPoint, rows: Repetitions, reports: Sequence[TurnReport]
) -> PointFigures:
    assert isinstance(point, MemoryPoint)  # noqa: S101 (chosen by its type)
    proofs = [prove(point, one) for one in reports if not one.error]
    refused = next((one.refused for one in proofs if one.refused), None)
    proof = proofs[-1] if proofs else None
    behind = {(one.source, one.target) for one in proofs}
    if len(behind) > 1 and not refused:
        texts = sorted(" and ".join(filter(None, one)) for one in behind)
        refused = f"what stands behind the buffers differs between rounds: {', '.join(texts)}"
    facts: dict[str, Fact] = {}
    note = ""
    if proof is not None and not refused:
        facts = {
            "backing": proof.source or proof.target,
            "target_backing": proof.target or None,
            "frames": proof.frames,
            "pages": proof.pages,
        }
        if proof.source in (ZERO_PAGE, HUGE_ZERO_PAGE):
            kind = "write" if point.what == "copy" else "read"
            note = f"{kind} bandwidth ({proof.source})"
    ns, passes = rows.column("ns").astype(float), rows.column("passes").astype(float)
    if point.what == "latency":
        figures = {"ns_per_read": measured(rows, ns / passes)}
    else:
        figures = {"gb_per_s": measured(rows, passes * point.size / ns)}
    refused = refused or found.refused
    return _with(found, figures={} if refused else figures, facts=facts, refused=refused, note=note)


def _clock(
    found: PointFigures, point: BenchmarkPoint, rows: Repetitions, reports: Sequence[TurnReport]
) -> PointFigures:
    assert isinstance(point, ClockPoint)  # noqa: S101 (chosen by its type)
    ns, calls = rows.column("ns").astype(float), rows.column("calls").astype(float)
    nature = next((one.nature for one in reports if one.nature is not None), None)
    checks = int(rows.column("checks").sum())
    # A thread that came to no call while others had the CPUs has no price of one.
    called = calls > 0
    idle = int((~called).sum())
    facts: dict[str, Fact] = {
        **({"rows_without_a_call": idle} if idle else {}),
        "system_call": nature.system_call if nature is not None else None,
        "resolution_ns": nature.resolution_ns if nature is not None else None,
        "checks": checks,
        "backward_steps": int(rows.column("backward").sum()) if checks else None,
        "most_backward_ns": int(rows.column("most_backward_ns").max()) if checks else None,
    }
    figures = {
        "ns_per_call": measured(rows.where(called), ns[called] / calls[called]),
        "calls_per_us": _throughput(rows),
    }
    return _with(found, figures=figures, facts=facts)


def throughputs(rows: Repetitions) -> Floats:
    """Return what all threads of a clock did together in each trial, calls a µs.

    By the time of the thread that was at it for longest: one that had to wait for a CPU first may
    have begun later, and did nothing before.
    """
    places = rows.column("turn") * (1 << 20) + rows.column("repetition")
    different, first, which = np.unique(places, return_index=True, return_inverse=True)
    calls = np.bincount(which, rows.column("calls").astype(np.float64))
    longest = np.zeros(len(different))
    np.maximum.at(longest, which, rows.column("ns").astype(np.float64))
    rates = calls / np.maximum(longest, 1) * 1e3
    trials = rows.column("turn")[first]
    return np.array([np.median(rates[trials == one]) for one in np.unique(trials)])


def _throughput(rows: Repetitions) -> Measured:
    found = median_interval(throughputs(rows))
    return Measured(found.value, found.low, found.high)


def _command(
    found: PointFigures, point: BenchmarkPoint, rows: Repetitions, reports: Sequence[TurnReport]
) -> PointFigures:
    assert isinstance(point, CommandPoint)  # noqa: S101 (chosen by its type)
    bad = np.flatnonzero((rows.column("status") != 0) | (rows.column("signal") != 0))
    refused = found.refused
    if bad.size:
        signal, status = int(rows.column("signal")[bad[0]]), int(rows.column("status")[bad[0]])
        how = f"was ended by signal {signal}" if signal else f"ended with status {status}"
        refused = refused or f"the command {how} in {bad.size} of {rows.n} rounds"
    figures = {
        "wall_s": measured(rows, rows.column("wall_ns") / 1e9),
        "cpu_s": measured(rows, (rows.column("user_ns") + rows.column("system_ns")) / 1e9),
    }
    if point.value is not None and rows.value is not None:
        without = int(np.isnan(rows.value).sum())
        if without:
            cut = (
                ", of which the last 64 KiB were kept" if any(r.output_cut for r in reports) else ""
            )
            refused = refused or (
                f"--value finds no number in what the command wrote{cut} in {without} of {rows.n} "
                "rounds (1,234 and 3.14 are numbers; 3,14 is none)"
            )
        else:
            figures = {"value": measured(rows, rows.value), **figures}
    facts: dict[str, Fact] = {
        "peak_memory_bytes": int(rows.column("peak_memory").max()),
        **({"unit": point.unit} if point.unit else {}),
    }
    return _with(found, figures={} if refused else figures, facts=facts, refused=refused)


_Figures = Callable[[PointFigures, BenchmarkPoint, Repetitions, Sequence[TurnReport]], PointFigures]
_FIGURES: dict[type[BenchmarkPoint], _Figures] = {
    SwitchPoint: _switch,
    MemoryPoint: _memory,
    ClockPoint: _clock,
    CommandPoint: _command,
}
