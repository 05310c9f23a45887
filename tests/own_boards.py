"""Virtual boards for tests, apart from those of anybody else on this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.boards.qemu.board import QemuBoard
from whylate.lab.description import virtual_board
from whylate.lab.image import is_fetched

#: Kernel arguments: busybox as the first process, which then sleeps. Nothing ever says that the
#: board is ready.
NEVER_UP = ("rdinit=/bin/busybox", "--", "sleep", "100000")


@contextmanager
def own_boards(*names: str) -> Iterator[Path]:
    """Keep these boards in a directory of our own; skip where they have no image."""
    for name in names:
        if not is_fetched(virtual_board(name)):
            pytest.skip(f"the image of {name} is not here: make lab")
    # A socket's path must be short.
    directory = Path(tempfile.mkdtemp(prefix="wl"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHYLATE_RUN", str(directory))
        try:
            yield directory
        finally:
            for name in names:
                QemuBoard(virtual_board(name)).power.off()
            shutil.rmtree(directory, ignore_errors=True)
