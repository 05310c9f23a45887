"""What longer executions of a section did in their own code, by what was counted of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.imported.executions.headings import name_columns
from whylate.recording.imported.executions.model import Column
from whylate.recording.store.executions import Executions
from whylate.stats.arrays import Floats
from whylate.stats.executions.classes import (
    CLASSES,
    LEAST_EXECUTIONS,
    SAMPLED_CLASSES,
    ExecutionClass,
    classify_executions,
    classify_sampled_executions,
    estimate_typical,
)
from whylate.stats.executions.parts import OwnCode
from whylate.summary.executions import class_counts, evidence_of, lacking, missing_evidence

#: The class of executions that have none.
_NONE = -1


@dataclass(frozen=True)
class ByTime:
    """Why executions took longer, by time (whylate.stats.executions.parts).

    classes: int64, of the longer ones, places in names; the place after the last is that of the
    rest, and below 0 none is known. start_ns: when the first CPU was watched. is_sampled: it was
    looked where executions are.
    """

    classes: NDArray[np.int64]
    names: Sequence[str]
    start_ns: int
    is_sampled: bool = False

    @property
    def by_counters(self) -> tuple[ExecutionClass, ...]:
        """Return the classes of those of which none is known by time."""
        return SAMPLED_CLASSES if self.is_sampled else CLASSES

    @property
    def own_code(self) -> NDArray[np.bool_]:
        """Whether most of the excess of each longer execution is in its own code."""
        own: NDArray[np.bool_] = self.classes == len(self.names)
        return own


@dataclass(frozen=True)
class CountedCode:
    """The classes of longer executions by their counters.

    classes: int8, of the longer ones, places in names; below 0: it has no counts, or a class by
    time. None: reason says why there is none. evidence: what the classes rest on, and its counter.
    """

    classes: NDArray[np.int8] | None
    names: tuple[ExecutionClass, ...]
    reason: str | None
    evidence: dict[str, str]

    @property
    def counts(self) -> dict[str, int] | None:
        """Return how many are of each class."""
        if self.classes is None:
            return None
        return class_counts(self.classes[self.classes >= 0], self.names, self.evidence)

    @property
    def lacks(self) -> list[str]:
        """Return what would have to be counted to tell executions that wait for code from others.

        Empty where all is counted, and where something else keeps them without a class.
        """
        return lacking(self.evidence)

    def divided(self) -> OwnCode | None:
        """Return what divides the time of the rest; None: nothing does."""
        if self.classes is None:
            return None
        unexplained = self.names.index(ExecutionClass.UNEXPLAINED)
        known = np.where(self.classes == unexplained, _NONE, self.classes)
        return OwnCode(known, [str(name) for name in self.names[:unexplained]])


def classify_own_code(
    counters: Sequence[str], longer: Executions, others: Executions, by_time: ByTime
) -> CountedCode:
    """Return the classes of longer executions of which none has half of their excess by time.

    They are held against the medians of the others, some of which are drawn where there are many.
    """
    columns = columns_of(counters)
    evidence = evidence_of(columns)
    names = by_time.by_counters
    reason = missing_evidence(evidence, is_sampled=by_time.is_sampled)
    has, usual = (
        (each.counts >= 0).all(axis=1) if counters else np.zeros(each.cpu.size, np.bool_)
        for each in (longer, others)
    )
    if reason is None and np.count_nonzero(usual) < LEAST_EXECUTIONS:
        reason = f"classes take {LEAST_EXECUTIONS} executions that took no longer, with counts"
    if reason is not None:
        return CountedCode(None, names, reason, evidence)
    places = {role: list(counters).index(name) for role, name in evidence.items()}
    counted, typical = (
        {role: each.counts[rows, place].astype(np.float64) for role, place in places.items()}
        for each, rows in ((longer, has), (others, usual))
    )
    times = longer.duration_ns[has] / max(1.0, float(np.median(others.duration_ns[usual])))
    seen = [longer.part(name)[has] for name in ("samples", "spins")]
    classes = np.full(longer.duration_ns.size, _NONE, np.int8)
    classes[has] = _classify(counted, typical, times, seen if by_time.is_sampled else None)
    classes[~by_time.own_code] = _NONE
    return CountedCode(classes, names, None, evidence)


def _classify(
    counted: Mapping[str, Floats],
    usual: Mapping[str, Floats],
    times: Floats,
    seen: Sequence[NDArray[np.int64]] | None,
) -> NDArray[np.int8]:
    """Return the class of each execution, int8, shape (n,).

    counted: by what the rule asks for, shape (n,); usual: of those that took no longer. times: how
    many times as long each took. seen: samples, and those of spinning; None: not known.
    """
    cycles, instructions = counted["cycles"], counted["instructions"]
    stalls, data = (counted.get(name) for name in ("instruction_stalls", "data_stalls"))
    no_stalls = np.zeros_like(usual["cycles"])
    typical = estimate_typical(
        usual["instructions"],
        usual.get("instruction_stalls", no_stalls),
        usual["cycles"],
        usual.get("data_stalls", no_stalls),
    )
    if seen is not None:
        samples, spins = seen
        return classify_sampled_executions(
            cycles, instructions, stalls, typical, times, samples, spins, data
        )
    if stalls is None:
        raise ValueError("classes without samples take stalls of the instruction side")
    return classify_executions(cycles, instructions, stalls, typical, times, data)


def columns_of(counters: Sequence[str]) -> tuple[Column, ...]:
    """Return the duration, and what each counter is by its name; of no known kind it is another."""
    roles = name_columns(["duration_ns", *counters]) or [None] * (1 + len(counters))
    return (
        Column("duration_ns", "duration", "ns"),
        *(
            Column(name, role.role if role is not None else "other")
            for name, role in zip(counters, roles[1:], strict=True)
        ),
    )
