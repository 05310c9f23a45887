"""The boot method `u-boot`: commands at U-Boot's prompt on the board's console.

Nothing of the boot loader changes. The entry is a file of its own in the form of extlinux.conf,
which `sysboot` boots; or the environment file declares the commands. A boot that nobody types at is
the board's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from whylate.boards.board import Board, Notify
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry, without_loaders, words_of
from whylate.boards.boot.extlinux_conf import conf_text
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.of_extlinux_conf import LABEL, OfExtlinuxConf
from whylate.boards.boot.options import BootOptions
from whylate.boards.boot.u_boot_prompt import MOST_COMMAND, boot_by
from whylate.boards.console.drain import ConsoleStream
from whylate.text import path_part

#: What a value may hold that is put into a command of U-Boot's.
_VALUE = re.compile(r"[A-Za-z0-9/._,:=@+ -]*")


class HasLoader(Protocol):
    """A board whose console shows its boot loader."""

    def boot_through(self, loader: Callable[[ConsoleStream], None], notify: Notify) -> None:
        """Switch it off and on, and let `loader` type to its boot loader; raises BoardError."""


class UBoot(OfExtlinuxConf):
    """Boots a board by U-Boot's prompt. Implements BootMethod."""

    name = "u-boot"

    starts_cold = True

    def __init__(self, board: Board, options: BootOptions) -> None:
        super().__init__(board, options)
        if not hasattr(board, "boot_through") or board.console is None or board.power is None:
            raise BootMethodError(
                f"{board.name}: the boot method u-boot needs a console and a supply that can be "
                "switched: a board on a labgrid bench (docs/how-to/boot-knobs.md)"
            )
        if not options.device and not options.commands:
            raise BootMethodError(
                f"{board.name}: the boot method u-boot needs `device`, U-Boot's name of the "
                "partition with extlinux.conf (as mmc 0:1), or `commands`"
            )

    @property
    def directory(self) -> str:
        """Beside the directory of extlinux.conf, if the board has that."""
        own = self._options.commands and not self._options.conf
        return "/boot/whylate" if own else super().directory

    @property
    def host_directory(self) -> Path | None:  # type: ignore[override]
        """Below the directory of the TFTP server, if files are loaded from there."""
        if not self._options.tftp:
            return None
        return Path(self._options.tftp, board_files.OURS, path_part(self._board.name))

    def path(self, on_board: str) -> str:
        """Return a path from the root of the partition, or of the TFTP server."""
        if self._options.tftp:
            return str(Path(on_board).relative_to(self._options.tftp))
        return super().path(on_board)

    def own(self) -> Entry:
        """Return the default of extlinux.conf, or what the environment file declares."""
        options = self._options
        if not options.commands:
            return super().own()
        line = board_files.read_text(self._board, "/proc/cmdline") or ""
        words = without_loaders(words_of(line.strip()))
        return Entry(options.kernel, options.initrd, options.dtb, words)

    def touches(self) -> list[str]:
        """Return nothing: a file of its own is booted."""
        return []

    def arm(self, entry: Entry) -> None:
        """Write the entry's file, unless commands are declared."""
        if not self._options.commands:
            text = conf_text(LABEL, entry).encode("utf-8", "surrogateescape")
            self._board.put(text, self._conf(entry))

    def disarm(self) -> None:
        """Do nothing: no boot is changed."""

    def start(self, entry: Entry, notify: Notify) -> None:
        """Switch the board off and on, and type at the prompt; raises BoardError."""
        commands = self._commands(entry)
        prompt, stop = self._options.prompt, self._options.stop
        loader = cast(HasLoader, self._board)
        loader.boot_through(lambda stream: boot_by(stream, commands, prompt, stop), notify)

    def _commands(self, entry: Entry) -> list[str]:
        if self._options.commands:
            commands = [fill(command, entry) for command in self._options.commands]
        else:
            commands = [sysboot(self._options.device, self.path(self._conf(entry)))]
        if too_long := next((line for line in commands if len(line) > MOST_COMMAND), None):
            raise BootMethodError(
                f"{self._board.name}: U-Boot takes no line of {len(too_long)} characters: use "
                "extlinux.conf on the board instead of `commands`"
            )
        return commands

    def _conf(self, entry: Entry) -> str:
        return f"{self.directory}/{entry.mark.partition('=')[2]}.conf"


def sysboot(device: str, path: str) -> str:
    """Return U-Boot's command that boots by a file in the form of extlinux.conf."""
    return f"sysboot {device} any ${{scriptaddr}} {path}"


def fill(command: str, entry: Entry) -> str:
    """Return a declared command with the parts of an entry filled in; raises BootMethodError."""
    parts = {
        "kernel": entry.kernel,
        "initrd": entry.initrd,
        "dtb": entry.dtb,
        "words": entry.line,
    }
    for name, value in parts.items():
        if f"{{{name}}}" not in command:
            continue
        if not _VALUE.fullmatch(value):
            raise BootMethodError(
                f"U-Boot's prompt would read more in {value[:60]!r} than it is: use extlinux.conf "
                "on the board instead of `commands`"
            )
        command = command.replace(f"{{{name}}}", value)
    return command
