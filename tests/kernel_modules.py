"""Kernel modules of tests, built for the kernels of virtual boards."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.files import write_whole
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.faults import build


def build_module(board: VirtualBoard, source: Path, includes: Sequence[Path] = ()) -> bytes:
    """Return a module for a board's kernel, built where a source or the kernel changed.

    Skips where the compiler is missing.
    """
    compiler = f"{build.compiler_prefix(board)}gcc-12"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    with building(cache_directory()):
        headers, options = build.kernel_headers(board, notify_nobody), build.module_options(board)
        digest = hashlib.sha256(f"{headers}{options}".encode())
        for path in (source, *includes):
            digest.update(path.read_bytes())
        place = cache_directory() / "faults" / f"{source.stem}-{digest.hexdigest()[:16]}.ko"
        if not place.exists():
            with tempfile.TemporaryDirectory(prefix="whylate-module-") as directory:
                here = Path(directory)
                for path in (source, *includes):
                    shutil.copy(path, here)
                (here / "Kbuild").write_text(f"obj-m := {source.stem}.o\nccflags-y := -Werror\n")
                make = ["make", "-s", *options, "-C", str(headers), f"M={here}", "modules"]
                build.run(make, source.name, here)
                place.parent.mkdir(parents=True, exist_ok=True)
                write_whole(place, (here / f"{source.stem}.ko").read_bytes())
        return place.read_bytes()
