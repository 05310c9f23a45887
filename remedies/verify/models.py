"""Run the spin models of the remedies: all their states, or until an assertion fails."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clients import FOLDER, run_program


@dataclass(frozen=True)
class Model:
    """A model, with its definitions, and whether its assertions hold.

    may_not_end: LONG_MIB and an hour may not do for all its states: no violation was seen then.
    ends: it is searched for cycles too: where there are none, all runs end.
    progress: its LTL property is searched for cycles that violate it, with all processes scheduled
    fairly.
    depth: steps of the longest path that is searched.
    """

    name: str
    defines: tuple[str, ...] = ()
    holds: bool = True
    may_not_end: bool = False
    ends: bool = False
    progress: bool = False
    depth: int = 2_000_000


WEAKER_BULK_WORK = (
    *("BOUND_LESS", "TWO_TURNS", "NO_TAKE", "UNFAIR", "BLIND"),
    *("LOOK_FIRST", "WANTED_SELF", "GIVE_TWICE", "NO_GIVE"),
)
WEAKER_PROGRESS = ("UNFAIR", "NO_GIVE", "DROP_LOCK", "NO_ROLLOVER")
#: Seconds each.
MODELS = (
    Model("shared_read", ("READERS=2",)),
    Model("shared_read", ("JOIN_ANY",), holds=False),
    Model("shared_read", ("NO_LEADER",), holds=False),
    Model("shared_read", ("PUBLISH_FIRST",), holds=False),
    Model("shared_read", ("SAMPLE_FIRST",), holds=False),
    Model("asid", ("PLAIN_STORE",), holds=False),
    Model("asid", ("SHARED", "NO_PARK"), holds=False),
    Model("asid", ("NO_RESERVE",), holds=False),
    Model("asid", ("NO_FLUSH",), holds=False),
    Model("asid_symmetric", ("GENERATIONS=1",)),
    Model("asid_symmetric", ("GENERATIONS=2", "PLAIN_STORE"), holds=False),
    Model("asid_symmetric", ("GENERATIONS=2", "SHARED", "NO_PARK"), holds=False),
    Model("asid_symmetric", ("GENERATIONS=2", "NO_RESERVE"), holds=False),
    Model("asid_symmetric", ("GENERATIONS=2", "NO_FLUSH"), holds=False),
    Model("asid_progress", progress=True),
    *(Model("asid_progress", (name,), holds=False, progress=True) for name in WEAKER_PROGRESS),
    Model("asid_turns", ("SLOTS=1", "CHANGERS=1")),
    Model("asid_turns", ("SLOTS=1", "CHANGERS=1", "NO_FLUSH"), holds=False),
    Model("bulk_work", ("OTHERS=2",)),
    Model("bulk_work", ("OTHERS=2", "CALLS=1"), ends=True),
    Model("bulk_work", ("OTHERS=2", "NO_WANTED")),
    *(Model("bulk_work", (name,), holds=False) for name in WEAKER_BULK_WORK),
)
#: Minutes to hours, and up to LONG_MIB of memory.
LONG_MODELS = (
    Model("shared_read", ("READERS=3",), depth=20_000_000),
    Model("asid", ("GENERATIONS=2",)),
    Model("asid", ("GENERATIONS=2", "SHARED")),
    Model("asid", ("GENERATIONS=2", "UNMAP_LATE"), holds=False),
    Model("asid_symmetric"),
    Model("asid_symmetric", ("SHARED",)),
    # The flush may come before the scan, too.
    Model("asid_symmetric", ("FLUSH_FIRST",)),
    Model("asid_symmetric", ("GENERATIONS=2", "UNMAP_LATE"), holds=False),
    Model("asid_progress", ("CPUS=4",), progress=True, depth=4_000_000),
    Model("asid_turns", ("CHANGERS=1",)),
    Model("asid_turns", may_not_end=True),
    Model("asid_turns", ("LOOK_FIRST",), holds=False),
    Model("asid_turns", ("COUNT_LAST",), holds=False),
    Model("bulk_work"),
    Model("bulk_work", ends=True),
    Model("bulk_work", ("NO_WANTED",)),
    Model("bulk_work", ("OTHERS=4", "CALLS=1")),
    Model("bulk_work", ("ITEMS=8", "CHUNK=5", "WORST=3")),
    Model("bulk_work", ("BULKS=2", "OTHERS=2")),
    Model("bulk_work", ("BULKS=2", "OTHERS=2", "BOUND_LESS"), holds=False),
)
LONG_MIB = 16_000


@dataclass(frozen=True)
class Search:
    """What a search found. holds is None where it ended before it had seen all states."""

    holds: bool | None
    states: int
    text: str


def judge_search(model: Model, search: Search) -> bool | None:
    """Return whether a search found what it must; None: it may end early, and did."""
    if search.holds is None and model.may_not_end:
        return None
    return search.holds is model.holds


def search_model(model: Model, memory_mib: int = 1900, timeout_s: float = 3600) -> Search:
    """Search the states of a model for a violation."""
    with tempfile.TemporaryDirectory() as folder:
        defines = [f"-D{name}" for name in model.defines]
        source = FOLDER / f"{model.name}.pml"
        subprocess.run(
            ["spin", *defines, "-a", source], cwd=folder, check=True, capture_output=True
        )
        pan = Path(folder) / "pan"
        flags = [
            "-DNP" if model.ends else "-DNFAIR=3" if model.progress else "-DSAFETY",
            "-DCOLLAPSE",
            "-DNOREDUCE",
            f"-DMEMLIM={memory_mib}",
        ]
        # Compiling a short search takes longer than the search.
        optimize = "-O2" if model in LONG_MODELS else "-O0"
        command = ["cc", optimize, "-w", *flags, "pan.c", "-o", str(pan)]
        subprocess.run(command, cwd=folder, check=True)
        cycles = ["-l"] if model.ends else ["-a", "-f"] if model.progress else []
        text = run_program([str(pan), f"-m{model.depth}", "-n", *cycles], timeout_s, folder).text
    errors = re.search(r"errors: (\d+)", text)
    states = re.search(r"(\d+(?:\.\d+e\+\d+)?) states, stored", text)
    holds: bool | None = None
    if errors is not None and int(errors[1]):
        holds = False
    elif errors is not None and "too small" not in text and "Search not completed" not in text:
        holds = True
    return Search(holds=holds, states=int(float(states[1])) if states else 0, text=text)
