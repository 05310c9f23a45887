"""Virtual time: each run of a study at another phase, and with other random numbers.

A repeatable run is one sample, and an inert change moves its maximum by several per cent: what is
to be said of a variant needs many phases. Sides do not share theirs: two sides of the same variant
would then agree to the nanosecond, which proves nothing.
"""

from __future__ import annotations

import zlib

import msgspec
import numpy as np

from whylate.lab.faults.catalogue import fault
from whylate.recording.plan import FaultPlan, RunPlan
from whylate.run.several import with_phase
from whylate.study.model import PlannedRun, StudyPlan

_SEEDS = 1 << 29
#: Of a cause.
_MOST_PHASE_US = 1_000_000


def dithered(request: RunPlan, plan: StudyPlan, place: PlannedRun) -> RunPlan:
    """Return a run of a study with a phase and seeds of its own, the same whenever it is made.

    The start of the run, and of each injected fault, is anywhere within its period.
    """
    of = (zlib.crc32(word.encode()) for word in (place.board, place.load, place.variant))
    rng = np.random.default_rng([plan.seed, *of, place.round])
    seed = int(rng.integers(1, _SEEDS))
    activations = request.activations
    interval_ns = activations.interval_ns if activations is not None else 0
    phase_ns = int(rng.integers(interval_ns)) if interval_ns else 0
    faults = [_moved(fault, rng) for fault in request.faults]
    request = msgspec.structs.replace(request, seed=seed, faults=faults)
    return with_phase(request, phase_ns)


def _moved(one: FaultPlan, rng: np.random.Generator) -> FaultPlan:
    takes = fault(one.name).takes
    own: dict[str, int | str] = {}
    if "seed" in takes:
        own["seed"] = int(rng.integers(1, _SEEDS))
    period_us = one.parameters.get("period_us")
    if "phase_us" in takes and isinstance(period_us, int):
        own["phase_us"] = int(rng.integers(min(period_us, _MOST_PHASE_US)))
    return msgspec.structs.replace(one, parameters=one.parameters | own)
