"""What is read of a board, and the pure functions that make facts of it.

`WANTED` is what to ask the probe for before a run and `WANTED_AFTER` what to ask for again after
it; `for_release` makes either ready for one kernel. `facts` and `changes` interpret the answers.
Nothing here does I/O, and nothing that a board answers makes it raise.
"""

from __future__ import annotations

import msgspec

from whylate.boards.facts import bootlog
from whylate.boards.facts.clock import clock_facts
from whylate.boards.facts.counters import changes
from whylate.boards.facts.cpu import cpu_facts, model
from whylate.boards.facts.interrupts import interrupt_facts
from whylate.boards.facts.kernel import kernel_facts
from whylate.boards.facts.machine import machine_facts
from whylate.boards.facts.memory import memory_facts
from whylate.boards.facts.pmu import pmu_facts
from whylate.boards.facts.power import power_facts
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.boards.facts.tasks import task_facts
from whylate.boards.facts.topology import topology_facts
from whylate.boards.facts.tracing import tracing_facts
from whylate.boards.facts.wanted import WANTED, WANTED_AFTER, for_release
from whylate.recording.manifest import Fact

__all__ = ["WANTED", "WANTED_AFTER", "changes", "cpu_model", "facts", "for_release"]


def cpu_model(snapshot: Snapshot) -> str | None:
    """Return the model of a board's CPUs, as the fact of that name; None where it is not told."""
    return model(Files(snapshot))


def facts(snapshot: Snapshot, probe_facts: ProbeFacts) -> list[Fact]:
    """All facts of a board, by theme; each name occurs once.

    What a board does not have gives no fact; what is there but closed or garbled gives one whose
    value is None and whose source says why. Strings are printable lines of at most 400
    characters, lists end with "… n more" where they were cut. Never raises on what was read.
    """
    files = Files(snapshot)
    by_theme = {
        "machine": machine_facts(files),
        "kernel": kernel_facts(files, probe_facts),
        "CPUs": cpu_facts(files, probe_facts),
        "topology": topology_facts(files),
        "power": power_facts(files),
        "clocks": clock_facts(files, probe_facts),
        "memory": memory_facts(files),
        "threads and scheduling": task_facts(files, probe_facts),
        "interrupts": interrupt_facts(files),
        "tracing": tracing_facts(files),
        "performance counters": pmu_facts(files, probe_facts),
        "boot log": bootlog.read_facts(files),
    }
    return [
        msgspec.structs.replace(fact, theme=theme)
        for theme, found in by_theme.items()
        for fact in found
    ]
