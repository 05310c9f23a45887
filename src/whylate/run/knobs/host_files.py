"""Knobs whose value is a file of this machine: an image, a kernel, what is loaded with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whylate.text import path_part

#: The knob that is a file for a board's card.
IMAGE = "image"
#: The knobs that a board's boot loader loads.
KERNEL, INITRD, DTB = BOOT_FILES = ("kernel", "initrd", "dtb")
#: Stands for the board's name in the path of a file.
EACH_BOARD = "{board}"
#: Before the path of a file that is on the board already.
ON_BOARD = "board:"
_COMMAND_LINE = "cmdline:"


def is_path(value: str) -> bool:
    """Return whether the value of the knob `kernel` is a file: the others have no slash."""
    return "/" in value


def file_for(board: str, value: str) -> str:
    """Return the file that a knob names for a board of the plan."""
    return value.replace(EACH_BOARD, path_part(board))


def host_files(knobs: Mapping[str, str], boards: Iterable[str]) -> dict[str, str]:
    """Return the files of this machine that a variant's knobs name for boards, and their knobs."""
    names = list(boards) or [""]
    return {
        file_for(board, value): name
        for name, value in knobs.items()
        if name == IMAGE or (name in BOOT_FILES and (name != KERNEL or is_path(value)))
        if not value.startswith(ON_BOARD)
        for board in names
    }


def needs_boot(knobs: Iterable[str]) -> bool:
    """Return whether a board must boot another entry for one of these knobs."""
    return any(name in BOOT_FILES or name.startswith(_COMMAND_LINE) for name in knobs)
