"""Search asid.m, the Murphi model of asid.h, by rumur: a second opinion on spin's of asid.pml."""

from __future__ import annotations

import platform
import re
import subprocess
import tempfile
from pathlib import Path

from clients import FOLDER, run_program
from models import Model, Search

#: Seconds each. A definition sets a constant of the model.
RUMUR_MODELS = (
    Model("asid", ("GENERATIONS=1",)),
    Model("asid", ("GENERATIONS=2", "PLAIN_STORE=1"), holds=False),
    Model("asid", ("GENERATIONS=2", "SHARED=1", "NO_PARK=1"), holds=False),
    Model("asid", ("GENERATIONS=2", "NO_RESERVE=1"), holds=False),
    Model("asid", ("GENERATIONS=2", "NO_FLUSH=1"), holds=False),
)
#: Minutes and more, and up to LONG_MIB of memory.
LONG_RUMUR_MODELS = (
    Model("asid", ("GENERATIONS=2",)),
    Model("asid", ("GENERATIONS=2", "SHARED=1")),
    Model("asid", ("GENERATIONS=2", "UNMAP_LATE=1"), holds=False),
    Model("asid"),
    Model("asid", ("SHARED=1",)),
)


def set_constants(text: str, defines: tuple[str, ...]) -> str:
    """Return the model with NAME=VALUE set. Raises ValueError for a constant that it has not."""
    for define in defines:
        name, value = define.split("=")
        text, count = re.subn(rf"^(\t{name}:) \d+;", rf"\1 {int(value)};", text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"the model has {count} constants {name}")
    return text


def search_by_rumur(model: Model, memory_mib: int = 1900, timeout_s: float = 3600) -> Search:
    """Search the states of the model, of which those that differ only in names are one.

    The reduction by sorting is the fast one: of some states several namings are searched.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "model.m", Path(folder) / "model"
        source.write_text(set_constants((FOLDER / f"{model.name}.m").read_text(), model.defines))
        # A state from which no step leads is a wait: all CPUs have come to the model's bound.
        options = ["--symmetry-reduction", "heuristic", "--deadlock-detection", "off"]
        options += ["--scalarset-schedules", "off", "--threads", "1", "--colour", "off"]
        subprocess.run(["rumur", *options, "-o", f"{program}.c", source], check=True)
        # -w, -mcx16, -lpthread: what rumur makes needs them. -O1 compiles in half the time.
        flags = ["-O1", "-w", *(["-mcx16"] if platform.machine() == "x86_64" else [])]
        command = ["cc", *flags, f"{program}.c", "-o", str(program), "-lpthread"]
        subprocess.run(command, check=True)
        limit = ["prlimit", f"--as={memory_mib << 20}"]
        text = run_program([*limit, str(program)], timeout_s, folder).text
    return read_search(text)


def read_search(text: str) -> Search:
    """Return what rumur's verifier printed: that it found nothing, or an error, or neither."""
    states = re.search(r"^\s*(\d+) states, \d+ rules fired", text, re.MULTILINE)
    holds: bool | None = None
    if re.search(r"^\s*\d+ error\(s\) found", text, re.MULTILINE):
        holds = False
    elif states is not None and "No error found" in text:
        holds = True
    return Search(holds=holds, states=int(states[1]) if states else 0, text=text)
