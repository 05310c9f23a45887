"""One case of the truth test: a board, what is done to it, and the request that this becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from whylate.lab.description import virtual_board
from whylate.lab.faults.catalogue import FaultUse, fault, use
from whylate.recording.plan import FaultPlan, RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup

Engine = Literal["bpf", "tracefs"]
CPU = 0
PRIORITY = 95
#: A run is short: the control activations come closer together.
INJECTED_CONTROL_EVERY = 200
#: A period is at least so many sizes long, and so long that windows are not passed over.
SIZES_IN_A_PERIOD = 12
#: Late activations that a run is planned to have, as far as their number can be told before.
EPISODES = 70


@dataclass(frozen=True)
class Rig:
    """A board as it is set up, with or without causes."""

    board: str
    cpus: int
    engine: Engine
    idle_states: bool = False

    @property
    def name(self) -> str:
        """A word for it: `pc-rt.2.bpf`."""
        return f"{self.board}.{self.cpus}.{self.engine}" + (".idle" if self.idle_states else "")

    @property
    def rt(self) -> bool:
        """Whether its kernel has PREEMPT_RT."""
        return virtual_board(self.board).rt


@dataclass(frozen=True)
class Case:
    """A run to be made.

    causes: none for a clean run. size: of each cause, in multiples of the rig's clean p99.9; 0
    where the cause has no size of its own. reference: the clean run that p99.9 is taken from.
    """

    rig: Rig
    causes: tuple[str, ...]
    size: float
    seed: int
    reference: bool = False

    @property
    def name(self) -> str:
        """A word for it, by which it is kept: `pc.1.bpf/irqs-off/x2/s1`."""
        what = "+".join(self.causes) or ("reference" if self.reference else "clean")
        size = f"/x{self.size:g}" if self.size else ""
        return f"{self.rig.name}/{what}{size}/s{self.seed}"


#: A clean run is what a user would do; the reference has 20 activations beyond p99.9.
INTERVAL_NS = 250_000
REFERENCE_NS = 5_000_000_000
DURATION_NS = 4_000_000_000


def threshold_ns(case: Case, clean_ns: int) -> int:
    """Return what is late in a run with causes: later than p99.9 by half of what is injected."""
    return round(clean_ns * (1 + (case.size or 1) / 2))


def duration_ns(case: Case) -> int:
    """Return how long a case is measured."""
    if case.rig.idle_states:
        return IDLE_NS
    return REFERENCE_NS if case.reference else DURATION_NS


def request_of(case: Case, clean_ns: int) -> RunPlan:
    """Return what is run. clean_ns: p99.9 of the rig without a cause; not used by clean runs."""
    plain = RunPlan(
        workload=Wakeup(
            duration_ns=duration_ns(case),
            interval_ns=INTERVAL_NS,
            priority=PRIORITY,
            allow_idle_states=case.rig.idle_states,
            phase_ns=case.seed * 37_000 % INTERVAL_NS,
            # Attached throughout: what no window shows cannot be marked.
            recorder=RecorderPlan(case.rig.engine, detach=None),
        ),
        cpus=[CPU],
        virtual_time=True,
        seed=case.seed,
    )
    if not case.causes:
        return plain
    uses = [_use(name, number, case, clean_ns) for number, name in enumerate(case.causes)]
    recorder = RecorderPlan(
        case.rig.engine, threshold_ns(case, clean_ns), control_every=INJECTED_CONTROL_EVERY
    )
    return replace(
        plain,
        workload=replace(plain.workload, recorder=recorder),
        faults=[FaultPlan(use.name, dict(use.parameters)) for use in uses],
    )


def disguise_of(case: Case) -> str:
    """Return what hides the names of a case's faults."""
    return f"truth {case.seed % 3}" if case.causes else ""


#: Causes that are as long as they are, and how they are used: their sizes are not chosen by p99.9.
#: A hole of the throttling is as long as the kernel's ticks allow. An idle state keeps the board's
#: CPU busy all the time, so those runs are short.
OF_ITS_OWN: dict[str, dict[str, str | int]] = {
    "page-faults": {"period_us": 44_000, "jitter_us": 14_000},
    "printk": {"period_us": 40_000, "jitter_us": 13_000, "size_us": 300},
    "rt-throttling": {
        "period_us": 60_000, "jitter_us": 10_000, "size_us": 5_000, "rt_period_us": 20_000,
    },
    "tlb-shootdown": {"period_us": 40_000, "jitter_us": 13_000, "size_us": 2_000},
}  # fmt: skip
IDLE_NS = 1_500_000_000


def has_size(name: str) -> bool:
    """Whether a cause takes as long as it is told to."""
    return name not in OF_ITS_OWN


def _use(name: str, number: int, case: Case, clean_ns: int) -> FaultUse:
    """Return a cause with parameters by which about EPISODES activations are late in a run."""
    entry = fault(name)
    words: dict[str, str | int] = dict(OF_ITS_OWN.get(name, {}))
    if has_size(name):
        words["size_us"] = size_us = max(1, round(case.size * clean_ns / 1000))
        # Many more are late than meet what is shorter than they are late by.
        wanted = EPISODES / len(case.causes) * min(1.0, case.size / 2)
        if "one_in" in entry.parameters:
            # The governor takes the deep state every third time or so.
            exits = duration_ns(case) / INTERVAL_NS / 3
            words["one_in"] = max(1, round(exits / wanted))
        else:
            # Of its times so many meet an activation, and early enough for it to be late.
            met = min(1.0, size_us / 2 / (INTERVAL_NS / 1000))
            period_us = int(duration_ns(case) / 1000 * met / wanted)
            words["period_us"] = period_us = max(period_us, SIZES_IN_A_PERIOD * size_us, 1000)
            words["jitter_us"] = period_us // 3
    if "phase_us" in entry.takes:
        words["phase_us"] = case.seed * 131 % 1000 + number * 613
    if "seed" in entry.takes:
        words["seed"] = 100 * case.seed + number + 1
    return use(name, words)
