"""Parse loads and faults as a user writes them.

Loads: memory, net:2, net:HOST, block:PATH, cmd:COMMAND. Faults: bulk-lock size_us=400 irqs-off.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from whylate.lab.faults.catalogue import uses
from whylate.recording.device_loads import BLOCK, NIC, asked_text, load_name, parse_block, parse_net
from whylate.recording.plan import FaultPlan, LoadPlan
from whylate.run.errors import RequestError
from whylate.text import is_number
from whylate.wire.constants import LOADS

#: As a user writes them.
LOAD_KINDS = tuple(kind for kind in LOADS if kind != NIC)
MAX_LOAD_COUNT = 64


def parse_load(text: str) -> LoadPlan:
    """Return the load's plan; raises RequestError."""
    kind, colon, rest = text.partition(":")
    if kind not in LOAD_KINDS:
        raise RequestError(
            f"unknown load {kind[:60]!r}, expected one of {', '.join(LOAD_KINDS[:-1])}, cmd:COMMAND"
        )
    if kind == "cmd":
        return _command(rest)
    if kind == BLOCK:
        return _device(BLOCK, text, lambda: asked_text(parse_block(rest)))
    if kind == "net" and rest and not rest.isdecimal():
        return _device(NIC, text, lambda: asked_text(parse_net(rest)))
    if not colon:
        return LoadPlan(kind, 1)
    if not is_number(rest, 9) or not 1 <= int(rest) <= MAX_LOAD_COUNT:
        raise RequestError(f"{text[:60]!r}: write {kind}:N with N from 1 to {MAX_LOAD_COUNT}")
    return LoadPlan(kind, int(rest))


def load_text(load: LoadPlan) -> str:
    """Return a load as a user writes it."""
    return load_name(load.kind, load.count, load.command)


def parse_faults(text: str) -> tuple[FaultPlan, ...]:
    """Return the plans of injected faults; raises LabError."""
    return tuple(FaultPlan(use.name, dict(use.parameters)) for use in uses(text.split()))


def _device(kind: str, text: str, asked: Callable[[], str]) -> LoadPlan:
    try:
        return LoadPlan(kind, 1, asked())
    except ValueError as error:
        raise RequestError(f"{text[:60]}: {error}") from None


def _command(text: str) -> LoadPlan:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RequestError(f"cmd:{text[:60]}: {error}") from None
    if not words or len(words) > 32 or len(text) > 2000 or "\0" in text:
        raise RequestError("write cmd:COMMAND with at most 32 words and 2000 characters")
    return LoadPlan("cmd", 1, text)
