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
    a, b = _rows(first), _rows(second)
    numbers = np.union1d(a.number, b.number)
    left, right = _aligned(a, numbers), _aligned(b, numbers)
    differs = (left.there != right.there) | (
        left.there & ((left.latency_ns != right.latency_ns) | (left.overrun != right.overrun))
    )
    where = np.flatnonzero(differs)
    if not where.size:
        return None
    at = int(where[0])
    due_ns = np.where(left.there, left.due_ns, right.due_ns)

    def activation(i: int) -> Activation:
        return Activation(
            int(numbers[i]),
            int(due_ns[i]),
            int(left.latency_ns[i]) if left.there[i] else None,
            int(right.latency_ns[i]) if right.there[i] else None,
        )

    near = range(max(0, at - context), min(numbers.size, at + context + 1))
    return Parting(cpu, activation(at), tuple(activation(i) for i in near), at, int(where.size))


@dataclass(frozen=True)
class _Rows:
    """Rows of a CPU by activation number; there: which of the numbers it has."""

    number: NDArray[np.int64]
    #: Since the CPU's first was due; of a program's activations since the CPU was watched.
    due_ns: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    overrun: NDArray[np.bool_]
    there: NDArray[np.bool_]


def _rows(cpu_series: CpuSamples | None) -> _Rows:
    if cpu_series is None:
        none = np.empty(0, np.int64)
        return _Rows(none, none, none, none.astype(bool), none.astype(bool))
    there = np.ones(cpu_series.activation.size, bool)
    due_ns = cpu_series.due_ns - cpu_series.start_ns
    return _Rows(cpu_series.activation, due_ns, cpu_series.latency_ns, cpu_series.overrun, there)


def _aligned(rows: _Rows, numbers: NDArray[np.int64]) -> _Rows:
    at = np.searchsorted(numbers, rows.number)
    due_ns, latency_ns = np.zeros(numbers.size, np.int64), np.zeros(numbers.size, np.int64)
    overrun, there = np.zeros(numbers.size, bool), np.zeros(numbers.size, bool)
    due_ns[at], latency_ns[at] = rows.due_ns, rows.latency_ns
    overrun[at], there[at] = rows.overrun, True
    return _Rows(numbers, due_ns, latency_ns, overrun, there)


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
    values = {f"plan: {name}": str(value) for name, value in plan.items()}
    values["probe"] = manifest.probe.sha256[:16]
    values |= {fact.name: str(fact.value) for fact in manifest.facts if fact.name not in _PASSING}
    return values
