"""The files to ask a board for: all of them before a run, the counters again after it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from whylate.boards.facts import (
    bootlog,
    clock,
    config,
    counters,
    cpu,
    interrupts,
    kernel,
    machine,
    memory,
    pmu,
    power,
    tasks,
    topology,
    tracing,
)
from whylate.boards.facts.snapshot import FileRequest

WANTED_AFTER: tuple[FileRequest, ...] = counters.WANTED

WANTED: tuple[FileRequest, ...] = tuple(
    dict.fromkeys(
        (
            *kernel.WANTED,
            *config.WANTED,
            *cpu.WANTED,
            *topology.WANTED,
            *power.WANTED,
            *memory.WANTED,
            *clock.WANTED,
            *tasks.WANTED,
            *interrupts.WANTED,
            *tracing.WANTED,
            *pmu.WANTED,
            *bootlog.WANTED,
            *machine.WANTED,
            *counters.WANTED,
        )
    )
)

_PLAIN_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,99}")


def for_release(requests: Iterable[FileRequest], release: str) -> tuple[FileRequest, ...]:
    """Put uname's release in place of {release}; without those requests if it is no plain name.

    The release is the board's word and becomes part of a path and of a pattern: only letters,
    digits and ._+~- may pass.
    """
    plain = _PLAIN_RELEASE.fullmatch(release) is not None
    return tuple(
        replace(request, pattern=request.pattern.replace("{release}", release))
        for request in requests
        if plain or "{release}" not in request.pattern
    )
