"""The plan of the truth test: which cases there are, and in which order they are run.

A round has every cause on every board that can have it, in every size; each round has other
phases, seeds and names. Within a round the order is shuffled, always in the same way, so that a
plan which was ended early has run some of everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Literal

from truth_case import Case, Engine, Rig, has_size

from whylate.lab.description import virtual_board
from whylate.lab.faults.catalogue import fault, names

ROUNDS = 4
SIZES = (2.0, 10.0, 0.5)
#: Boards, and the ways in which events are recorded there. Those that boot fast have more seeds.
BOARDS: tuple[tuple[str, tuple[Engine, ...], int], ...] = (
    ("pc", ("bpf",), 1),
    ("virt-arm64", ("bpf", "tracefs"), 2),
    ("sabrelite", ("tracefs",), 1),
    ("virt-riscv64", ("bpf", "tracefs"), 1),
)
#: Where faults are also kernel modules.
MODULES_ON = frozenset({"x86_64", "riscv64"})
#: Two at a time, which their names distinguish.
PAIRS = (
    ("irqs-off", "rt-task"),
    ("preempt-off", "slow-irq"),
    ("bulk-lock", "preempt-off"),
    ("slow-irq", "rt-task"),
    ("softirq-storm", "irqs-off"),
)
CLEAN_RUNS = 3
#: Which faults: those whose logs say what each delays, those that are unseen, those that were.
Group = Literal["own", "unseen", "once unseen"]
#: What only a stack can name, which tracefs has not.
NEEDS_STACKS = frozenset({"long-poll"})


def rigs(board: str, engine: Engine) -> list[Rig]:
    """Return how a board is set up for one engine: for the causes that it can have."""
    found = [_rig(board, engine, name) for name in causes_of(board)]
    return list(dict.fromkeys(found))


def causes_of(board: str, group: Group = "own") -> list[str]:
    """Return the causes of a group that a virtual board can have in virtual time."""
    arch = virtual_board(board).description.arch
    return [
        name
        for name in names(unseen=group == "unseen")
        if fault(name).once_unseen is (group == "once unseen")
        if fault(name).kind == "program" or (fault(name).kind == "module" and arch in MODULES_ON)
        if not fault(name).machines or arch in fault(name).machines
    ]


def _rig(board: str, engine: Engine, *of: str) -> Rig:
    """Return the least rig that these causes act on."""
    cpus = max(fault(name).cpus for name in of)
    return Rig(board, cpus, engine, "late-idle" in of)


def plan(rounds: int = ROUNDS) -> list[Case]:
    """Return all cases in the order in which they are run."""
    found: list[Case] = []
    for number in range(1, rounds + 1):
        some = list(_round(number))
        found += sorted(some, key=lambda case: hashlib.sha256(case.name.encode()).digest())
    return found


def _kernels(machine: str) -> tuple[str, ...]:
    """Return a machine with each of Debian's kernels for it."""
    has_rt = virtual_board(machine).description.has_rt
    return (machine, f"{machine}-rt") if has_rt else (machine,)


def _round(number: int) -> Iterator[Case]:
    for machine, engines, seeds in BOARDS:
        for board in _kernels(machine):
            for engine in engines:
                for seed in range(1 + (number - 1) * seeds, 1 + number * seeds):
                    yield from _injected(board, engine, seed)
                    for rig in rigs(board, engine):
                        for clean in range(CLEAN_RUNS):
                            yield Case(rig, (), 0, seed=100 + seed * CLEAN_RUNS + clean)


def _injected(board: str, engine: Engine, seed: int) -> Iterator[Case]:
    for name in causes_of(board):
        if engine == "tracefs" and name in NEEDS_STACKS:
            continue
        for size in SIZES if has_size(name) else (0.0,):
            yield Case(_rig(board, engine, name), (name,), size, seed)
    there = set(causes_of(board))
    for pair in PAIRS:
        # What makes nothing late on this kernel is not one of two that do.
        rt = virtual_board(board).rt
        if there.issuperset(pair) and all(fault(name).right_answer(rt=rt).pieces for name in pair):
            for size in (2.0, 10.0):
                yield Case(_rig(board, engine, *pair), pair, size, seed)
