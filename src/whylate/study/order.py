"""The order of the runs of a study, and the random start of each run in virtual time.

A round has every variant under every load once. Under one load the variants of a round follow each
other directly, in random order, so that slow drift affects all of them alike. The order depends on
the plan's seed alone, so a study that is resumed keeps it.

In virtual time a repeatable run is one sample, and an inert change moves its maximum by several per
cent, so each run has its own phase and random numbers. Variants do not share them: two equal
variants would then agree to the nanosecond, which proves nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator

import msgspec
import numpy as np

from whylate.lab.faults.catalogue import fault
from whylate.recording.plan import FaultPlan, RunPlan
from whylate.run.several import with_phase
from whylate.study.model import PlannedRun, StudyPlan

_SEEDS = 1 << 29
#: The highest phase of a fault.
_MAX_PHASE_US = 1_000_000


def order(plan: StudyPlan, board: str) -> Iterator[PlannedRun]:
    """Yield all runs of a board, from the first round to the last."""
    for number in range(1, plan.stop.looks[-1] + 1):
        yield from round_of(plan, board, number)


def round_of(plan: StudyPlan, board: str, number: int) -> list[PlannedRun]:
    """Return the runs of one round of a board, in their order."""
    rng = np.random.default_rng([plan.seed, zlib.crc32(board.encode()), number])
    return [
        PlannedRun(board, plan.loads[load].name, plan.variants[variant].name, number)
        for load in rng.permutation(len(plan.loads))
        for variant in rng.permutation(len(plan.variants))
    ]


def remaining_runs(
    plan: StudyPlan,
    board: str,
    recorded: Collection[PlannedRun],
    decided: Collection[tuple[str, str]],
) -> Iterator[PlannedRun]:
    """Yield the runs of a board that are still to be made.

    decided: load and variant of comparisons that are over. The base of a load runs as long as any
    variant is not decided.
    """
    base = plan.variants[0].name
    open_loads = {
        load.name: {
            variant.name
            for variant in plan.variants[1:]
            if (load.name, variant.name) not in decided
        }
        for load in plan.loads
    }
    for run in order(plan, board):
        variants = open_loads[run.load]
        if run not in recorded and variants and run.variant in {base, *variants}:
            yield run


def dithered(request: RunPlan, plan: StudyPlan, run: PlannedRun) -> RunPlan:
    """Return the request of a run with its own phase and seeds, the same each time it is made.

    The start of the run, and of each injected fault, is uniform within its period.
    """
    names = (zlib.crc32(word.encode()) for word in (run.board, run.load, run.variant))
    rng = np.random.default_rng([plan.seed, *names, run.round])
    seed = int(rng.integers(1, _SEEDS))
    activations = request.activations
    interval_ns = activations.interval_ns if activations is not None else 0
    phase_ns = int(rng.integers(interval_ns)) if interval_ns else 0
    faults = [_dither_fault(fault, rng) for fault in request.faults]
    request = msgspec.structs.replace(request, seed=seed, faults=faults)
    return with_phase(request, phase_ns)


def _dither_fault(plan: FaultPlan, rng: np.random.Generator) -> FaultPlan:
    takes = fault(plan.name).takes
    random: dict[str, int | str] = {}
    if "seed" in takes:
        random["seed"] = int(rng.integers(1, _SEEDS))
    period_us = plan.parameters.get("period_us")
    if "phase_us" in takes and isinstance(period_us, int):
        random["phase_us"] = int(rng.integers(min(period_us, _MAX_PHASE_US)))
    return msgspec.structs.replace(plan, parameters=plan.parameters | random)
