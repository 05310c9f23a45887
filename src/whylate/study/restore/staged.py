"""Files of this machine that a board's boot loader loads by TFTP."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.files import write_whole


def stage(directory: Path, name: str, data: bytes) -> str:
    """Put a file where the TFTP server has it, unless it is there; return its path.

    directory: of the board alone. Raises BoardError.
    """
    path = directory / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
    except OSError as error:
        reason = f"{path} cannot be written: {error.strerror}"
        raise BoardError(f"{reason}; nothing was booted") from None
    return str(path)


def remove_staged(directory: Path) -> None:
    """Remove the files of a board, and the directory of all boards if no other has any.

    Raises BoardError.
    """
    try:
        if directory.exists():
            shutil.rmtree(directory)
    except OSError as error:
        raise BoardError(f"{directory} cannot be removed: {error.strerror}") from None
    with contextlib.suppress(OSError):
        directory.parent.rmdir()
