"""The boot method `u-boot-env`: a mark in U-Boot's environment, which U-Boot itself removes.

`bootcmd` first looks for the mark. If it is there, U-Boot removes it, saves its environment, and
only if that succeeded boots the entry. A power cut, a panic or a hang then ends in the board's own
entry. Where U-Boot cannot save its environment nothing else is ever booted.
"""

from __future__ import annotations

from whylate.boards.board import Board, Notify
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry
from whylate.boards.boot.extlinux_conf import conf_text
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.of_extlinux_conf import LABEL, OfExtlinuxConf
from whylate.boards.boot.options import BootOptions
from whylate.boards.boot.restart import restart
from whylate.boards.boot.u_boot import sysboot

#: The variable that is the mark.
ONCE = "whylate_once"
_BEGIN = f'if test "${{{ONCE}}}" = 1; then setenv {ONCE}; if saveenv; then '
_END = "; fi; fi; "


class UBootEnv(OfExtlinuxConf):
    """Boots a board by U-Boot's environment. Implements BootMethod."""

    name = "u-boot-env"
    starts_cold = False

    def __init__(self, board: Board, options: BootOptions) -> None:
        super().__init__(board, options)
        if not options.device:
            raise BootMethodError(
                f"{board.name}: the boot method u-boot-env needs `device`, U-Boot's name of the "
                "partition with extlinux.conf, as mmc 0:1"
            )

    def touches(self) -> list[str]:
        """Return nothing: disarm() puts `bootcmd` back."""
        return []

    def arm(self, entry: Entry) -> None:
        """Write the entry's file, and set the mark behind the command that looks for it."""
        conf = f"{self.directory}/{LABEL}.conf"
        self._board.put(conf_text(LABEL, entry).encode("utf-8", "surrogateescape"), conf)
        board_files.sync(self._board)
        command = once(sysboot(self._options.device, self.path(conf)), own_bootcmd(self._bootcmd()))
        # In this order: a command without the mark boots what the board has.
        self._set("bootcmd", command)
        self._set(ONCE, "1")

    def disarm(self) -> None:
        """Remove the mark, and give `bootcmd` its own value again."""
        self._set(ONCE)
        command = self._bootcmd()
        if own_bootcmd(command) != command:
            self._set("bootcmd", own_bootcmd(command))

    def start(self, entry: Entry, notify: Notify) -> None:
        """Boot anew: U-Boot sees the mark."""
        del entry
        restart(self._board, notify)

    def _bootcmd(self) -> str:
        words = ["fw_printenv", "-n", "bootcmd"]
        output = board_files.run(self._board, words, "reading U-Boot's environment")
        return output.decode("utf-8", "surrogateescape").rstrip("\n")

    def _set(self, name: str, *value: str) -> None:
        words = ["fw_setenv", name, *value]
        board_files.run(self._board, words, "writing U-Boot's environment")


def once(command: str, own: str) -> str:
    """Return a `bootcmd` that boots by `command` where the mark is, else by the board's own."""
    return f"{_BEGIN}{command}{_END}{own}"


def own_bootcmd(command: str) -> str:
    """Return the board's own `bootcmd` in one that looks for the mark, or in its own."""
    while command.startswith(_BEGIN) and _END in command:
        command = command.partition(_END)[2]
    return command
