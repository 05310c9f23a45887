"""What is read of a board, and the pure functions that make facts of it.

`WANTED` is what to request of the probe before a run and `WANTED_AFTER` what to request again
after it; `for_release` prepares either for one kernel. `facts` and `changes` interpret the answers.
Nothing here does I/O, and nothing that a board answers makes it raise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from whylate.boards.facts import (
    bootlog,
    counters,
    cpu,
    interrupts,
    kernel,
    machine,
    memory,
    power,
    tasks,
    tracing,
)
from whylate.boards.facts.counters import changes
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.facts.sources import Source
from whylate.recording.manifest import Fact

__all__ = ["WANTED", "WANTED_AFTER", "changes", "cpu_model", "facts", "for_release"]

_THEMES: dict[str, tuple[Source, ...]] = {
    "machine": machine.MACHINE,
    "kernel": kernel.KERNEL,
    "CPUs": cpu.PROCESSORS,
    "topology": cpu.TOPOLOGY,
    "power": power.POWER,
    "clocks": memory.CLOCKS,
    "memory": memory.MEMORY,
    "threads and scheduling": tasks.THREADS,
    "interrupts": interrupts.IRQS,
    "tracing": tracing.TRACING,
    "performance counters": tracing.COUNTERS,
    "boot log": bootlog.BOOT_LOG,
}

WANTED_AFTER: tuple[FileRequest, ...] = counters.WANTED
WANTED: tuple[FileRequest, ...] = tuple(
    dict.fromkeys(
        (
            *(r for sources in _THEMES.values() for source in sources for r in source.requests),
            *counters.WANTED,
        )
    )
)

_PLAIN_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,99}")


def for_release(requests: Iterable[FileRequest], release: str) -> tuple[FileRequest, ...]:
    """Replace {release} by uname's release; without those requests if it is not a plain name.

    The board chooses the release, and it becomes part of a path and of a pattern: only ASCII
    alphanumerics and ._+~- may pass.
    """
    plain = _PLAIN_RELEASE.fullmatch(release) is not None
    return tuple(
        replace(request, pattern=request.pattern.replace("{release}", release))
        for request in requests
        if plain or "{release}" not in request.pattern
    )


def cpu_model(snapshot: Snapshot) -> str | None:
    """Return the model of a board's CPUs, as the fact of that name; None where it is unknown."""
    return cpu.read_model(Files(snapshot))


def facts(snapshot: Snapshot, probe_facts: ProbeFacts) -> list[Fact]:
    """Return all facts of a board, by theme; each name occurs once.

    What a board does not have gives no fact; what exists but is closed or garbled gives a fact
    whose value is None and whose source has the reason. Strings are printable lines of at most 400
    characters, lists end with "… n more" where they were cut. Never raises on what was read.
    """
    files = Files(snapshot, probe_facts)
    return [
        msgspec.structs.replace(fact, theme=theme)
        for theme, sources in _THEMES.items()
        for source in sources
        for fact in source.facts(files)
    ]
