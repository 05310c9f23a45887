"""Causes that are kernel modules, built against the headers of a virtual board's kernel."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.lab.cache import cache_directory
from whylate.lab.causes.alias import alias, hidden
from whylate.lab.causes.catalogue import SHARED, Cause
from whylate.lab.causes.compilers import needed, run
from whylate.lab.causes.headers import kernel_headers
from whylate.lab.description import VirtualBoard

HEADER = SHARED / "cause_module.h"
#: Names by which the kernel itself finds its way in a module.
KEPT = ("init_module", "cleanup_module")


def modules(
    board: VirtualBoard, causes: Sequence[Cause], tell: Callable[[str], None], disguise: str = ""
) -> dict[str, bytes]:
    """Return the module of each cause, by its name, for the kernel of a board.

    Built where a source or the kernel changed; raises LabError. disguise: nothing in a module,
    its functions and its name, then says what it does.
    """
    if not causes:
        return {}
    headers = kernel_headers(board, tell)
    places = {cause.name: _place(headers, cause, disguise) for cause in causes}
    absent = [cause for cause in causes if not places[cause.name].exists()]
    if absent:
        needed("make", "make")
        needed("gcc-12", "gcc-12")
        tell(f"building {', '.join(alias(cause, disguise) for cause in absent)} for {board.name}")
        _build(headers, absent, places, disguise)
    return {name: place.read_bytes() for name, place in places.items()}


def _place(headers: Path, cause: Cause, disguise: str) -> Path:
    """Return where a module is kept: a file named after all that goes into it."""
    # The headers' directory is named after the packages' hashes.
    inputs = hashlib.sha256(f"{headers}\0{cause.name}\0{disguise}\0".encode())
    for path in (cause.source_file, HEADER, Path(__file__)):
        inputs.update(path.read_bytes() + b"\0")
    return cache_directory() / "causes" / f"{cause.name}-{inputs.hexdigest()[:16]}.ko"


def _build(headers: Path, causes: Sequence[Cause], places: dict[str, Path], disguise: str) -> None:
    with tempfile.TemporaryDirectory(prefix="whylate-causes-") as name:
        here = Path(name)
        shutil.copy(HEADER, here)
        for cause in causes:
            # The module, its thread and its interrupt are called as its source is.
            shutil.copy(cause.source_file, here / f"{alias(cause, disguise)}.c")
        objects = " ".join(f"{alias(cause, disguise)}.o" for cause in causes)
        (here / "Kbuild").write_text(f"obj-m := {objects}\nccflags-y := -Werror\n")
        run(
            ["make", "-s", "-j2", "-C", str(headers), f"M={here}", "modules"],
            ", ".join(cause.name for cause in causes),
            here,
        )
        for cause in causes:
            place = places[cause.name]
            module = here / f"{alias(cause, disguise)}.ko"
            _strip(module, disguise)
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh = place.with_suffix(".new")
            shutil.copy(module, fresh)
            fresh.replace(place)


def _strip(module: Path, disguise: str) -> None:
    """Remove what only a debugger reads; rename the functions where they could tell."""
    command = ["objcopy", "--strip-debug"]
    if disguise:
        for line in run(["nm", "--defined-only", module.name], module.name, module.parent).split(
            "\n"
        ):
            words = line.split()
            if len(words) == 3 and words[1] in "tT" and words[2] not in KEPT:
                command += ["--redefine-sym", f"{words[2]}=f{hidden(disguise, words[2])}"]
    run([*command, module.name], module.name, module.parent)
