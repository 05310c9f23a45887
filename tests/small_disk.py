"""A small file system, which is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(directory: Path, size: int) -> Iterator[Path]:
    """A directory that holds no more than so many bytes; only root may mount it."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "test", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)
