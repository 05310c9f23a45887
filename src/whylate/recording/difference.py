"""Compare two recordings activation by activation: where do they begin to differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import Manifest
from whylate.recording.samples import CpuSamples

#: Facts that differ between any two boots.
_PASSING = frozenset({"uptime_s", "boot_id"})


@dataclass(frozen=True)
class Activation:
    """An activation in both recordings; None: a recording lacks that number."""

    number: int
    #: When it was due, in ns after the first activation of its CPU.
    due_ns: int
    first_latency_ns: int | None
    second_latency_ns: int | None


@dataclass(frozen=True)
class Parting:
    """The first activation of a CPU, in time, that is not the same in both recordings."""

    cpu: int
    at: Activation
    #: Its neighbours, in order.
    around: tuple[Activation, ...]
    #: How many activations of this CPU are the same before it.
    same_before: int
    #: How many of this CPU differ, including those that only one recording has.
    differing: int


def partings(
    first: Sequence[CpuSamples], second: Sequence[CpuSamples], context: int = 3
) -> list[Parting]:
    """Return where two runs part, a parting for each CPU that differs, the earliest first.

    first, second: the samples of each CPU. Runs that are the same give an empty list; a CPU that
    only one of them measured parts at its first activation. context: activations shown before
    and behind.
    """
    ours = {cpu_series.cpu: cpu_series for cpu_series in first}
    theirs = {cpu_series.cpu: cpu_series for cpu_series in second}
    parts = []
    for cpu in sorted(ours.keys() | theirs.keys()):
        parting = _parting(cpu, ours.get(cpu), theirs.get(cpu), context)
        if parting is not None:
            parts.append(parting)
    return sorted(parts, key=lambda parting: (parting.at.due_ns, parting.cpu))


def _parting(
    cpu: int, first: CpuSamples | None, second: CpuSamples | None, context: int
) -> Parting | None:
    both = [series for series in (first, second) if series is not None]
    numbers = np.unique(np.concatenate([series.activation for series in both]))
    left, right = _rows(first, numbers), _rows(second, numbers)
    same = ("there", "latency_ns", "overrun")
    where = np.flatnonzero(np.any([left[name] != right[name] for name in same], axis=0))
    if not where.size:
        return None
    at = int(where[0])
    due_ns = np.where(left["there"], left["due_ns"], right["due_ns"])

    def activation(i: int) -> Activation:
        latencies = (int(rows["latency_ns"][i]) if rows["there"][i] else None
                     for rows in (left, right))  # fmt: skip
        return Activation(int(numbers[i]), int(due_ns[i]), *latencies)

    near = range(max(0, at - context), min(numbers.size, at + context + 1))
    return Parting(cpu, activation(at), tuple(activation(i) for i in near), at, int(where.size))


#: Of an activation by its number; there: whether a run has it. due_ns: since the CPU's first was
#: due; of a program's activations since the CPU was watched.
_ROW = np.dtype(
    [("there", bool), ("due_ns", np.int64), ("latency_ns", np.int64), ("overrun", bool)]
)


def _rows(series: CpuSamples | None, numbers: NDArray[np.int64]) -> NDArray[np.void]:
    """Return the row of each number, zeros where the series lacks it."""
    rows = np.zeros(numbers.size, _ROW)
    if series is not None:
        at = np.searchsorted(numbers, series.activation)
        rows["there"][at] = True
        rows["due_ns"][at] = series.due_ns - series.start_ns
        rows["latency_ns"][at], rows["overrun"][at] = series.latency_ns, series.overrun
    return rows


def differing_facts(first: Manifest, second: Manifest) -> list[tuple[str, str, str]]:
    """Return what differs of plan and facts: name, value in the first, value in the second."""
    ours, theirs = _values(first), _values(second)
    return [
        (name, ours.get(name, "not there"), theirs.get(name, "not there"))
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    ]


def _values(manifest: Manifest) -> dict[str, str]:
    plan = msgspec.to_builtins(manifest.plan)
    plan |= plan.pop("workload")
    values = {f"plan: {name}": str(value) for name, value in plan.items()}
    values["probe"] = manifest.probe.sha256[:16]
    values |= {fact.name: str(fact.value) for fact in manifest.facts if fact.name not in _PASSING}
    return values
