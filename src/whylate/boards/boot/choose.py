"""Which boot method a board has: the declared one, or the first that it is seen to have."""

from __future__ import annotations

from collections.abc import Callable

from whylate.boards.board import Board, Notify
from whylate.boards.boot.board_files import exists, has_tool
from whylate.boards.boot.extlinux import Extlinux
from whylate.boards.boot.grub import Grub
from whylate.boards.boot.kexec import Kexec
from whylate.boards.boot.method import BootMethod, BootMethodError
from whylate.boards.boot.options import BootOptions, boot_options
from whylate.boards.boot.u_boot import UBoot
from whylate.boards.boot.u_boot_env import UBootEnv

Make = Callable[[Board, BootOptions], BootMethod]
METHODS: dict[str, Make] = {
    "grub": Grub,
    "extlinux": Extlinux,
    "u-boot": UBoot,
    "u-boot-env": UBootEnv,
    "kexec": Kexec,
}


def method_for(board: Board, notify: Notify) -> BootMethod:
    """Return the boot method of a board that is up; raises BootMethodError, BoardError."""
    options = boot_options(board)
    if options.method:
        return named_method(board, options.method)
    name = _seen(board)
    if name is None:
        raise BootMethodError(
            f"{board.name}: it has neither GRUB, nor EXTLINUX, nor kexec: declare how it boots in "
            "its environment file (docs/how-to/boot-knobs.md)"
        )
    notify(f"{board.name} boots by {name}, as it has it: its environment file declares nothing")
    return named_method(board, name)


def named_method(board: Board, name: str) -> BootMethod:
    """Return a boot method by its name; raises BootMethodError."""
    if name not in METHODS:
        raise BootMethodError(
            f"{board.name}: unknown boot method {name[:40]!r}, expected one of {', '.join(METHODS)}"
        )
    return METHODS[name](board, boot_options(board))


def _seen(board: Board) -> str | None:
    """Return the first method that needs no declaration and that the board has."""
    for path, tool in (("/boot/grub", "grub-reboot"), ("/boot/grub2", "grub2-reboot")):
        if exists(board, f"{path}/grub.cfg") and has_tool(board, tool):
            return "grub"
    if exists(board, "/boot/extlinux/ldlinux.sys") and has_tool(board, "extlinux"):
        return "extlinux"
    return "kexec" if has_tool(board, "kexec") else None
