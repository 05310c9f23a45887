"""Faults that are kernel modules, built against the headers of a virtual board's kernel."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.lab.cache import cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.faults.alias import alias, hidden
from whylate.lab.faults.catalogue import SHARED, Fault
from whylate.lab.faults.compilers import require, run
from whylate.lab.faults.headers import kernel_headers

HEADER = SHARED / "fault_module.h"
#: Names of a module that the kernel uses.
KEPT = ("init_module", "cleanup_module")


def modules(
    board: VirtualBoard, faults: Sequence[Fault], tell: Callable[[str], None], disguise: str = ""
) -> dict[str, bytes]:
    """Return the module of each fault, by its name, for the kernel of a board.

    Built where a source or the kernel changed; raises LabError. disguise: then nothing in a module,
    its functions and its name reveals what it does.
    """
    if not faults:
        return {}
    headers = kernel_headers(board, tell)
    places = {fault.name: _place(headers, fault, disguise) for fault in faults}
    absent = [fault for fault in faults if not places[fault.name].exists()]
    if absent:
        require("make", "make")
        require("gcc-12", "gcc-12")
        tell(f"building {', '.join(alias(fault, disguise) for fault in absent)} for {board.name}")
        _build(headers, absent, places, disguise)
    return {name: place.read_bytes() for name, place in places.items()}


def _place(headers: Path, fault: Fault, disguise: str) -> Path:
    """Return a module's file, named after the hash of its inputs."""
    # The headers' directory is named after the packages' hashes.
    inputs = hashlib.sha256(f"{headers}\0{fault.name}\0{disguise}\0".encode())
    for path in (fault.source_file, HEADER, Path(__file__)):
        inputs.update(path.read_bytes() + b"\0")
    return cache_directory() / "faults" / f"{fault.name}-{inputs.hexdigest()[:16]}.ko"


def _build(headers: Path, faults: Sequence[Fault], places: dict[str, Path], disguise: str) -> None:
    with tempfile.TemporaryDirectory(prefix="whylate-faults-") as name:
        here = Path(name)
        shutil.copy(HEADER, here)
        for fault in faults:
            # The module, its thread and its interrupt have the name of its source.
            shutil.copy(fault.source_file, here / f"{alias(fault, disguise)}.c")
        objects = " ".join(f"{alias(fault, disguise)}.o" for fault in faults)
        (here / "Kbuild").write_text(f"obj-m := {objects}\nccflags-y := -Werror\n")
        run(
            ["make", "-s", "-j2", "-C", str(headers), f"M={here}", "modules"],
            ", ".join(fault.name for fault in faults),
            here,
        )
        for fault in faults:
            place = places[fault.name]
            module = here / f"{alias(fault, disguise)}.ko"
            _strip(module, disguise)
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh = place.with_suffix(".new")
            shutil.copy(module, fresh)
            fresh.replace(place)


def _strip(module: Path, disguise: str) -> None:
    """Remove debugging information; with a disguise rename the functions."""
    command = ["objcopy", "--strip-debug"]
    if disguise:
        for line in run(["nm", "--defined-only", module.name], module.name, module.parent).split(
            "\n"
        ):
            words = line.split()
            if len(words) == 3 and words[1] in "tT" and words[2] not in KEPT:
                command += ["--redefine-sym", f"{words[2]}=f{hidden(disguise, words[2])}"]
    run([*command, module.name], module.name, module.parent)
