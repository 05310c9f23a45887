"""The boot method `grub`: an entry of its own in custom.cfg, and grub-reboot.

grub-reboot names the entry of the next boot in grubenv. GRUB removes that before it boots the
entry, so that a power cut, a panic or a hang ends in the board's own.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from whylate.boards.board import Board, Notify
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry, words_of
from whylate.boards.boot.grub_config import LABEL, block_of, entry_of, entry_text
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.options import BootOptions
from whylate.boards.boot.restart import restart

#: Debian's, Fedora's.
_PLACES = (("/boot/grub", "grub-reboot"), ("/boot/grub2", "grub2-reboot"))
CUSTOM = "custom.cfg"


class Grub:
    """Boots a board by GRUB. Implements BootMethod."""

    name = "grub"
    starts_cold = False

    host_directory: Path | None = None

    def __init__(self, board: Board, options: BootOptions) -> None:
        del options
        self._board = board
        self._place: tuple[str, str] | None = None
        self._root = ""

    def on(self, board: Board) -> Grub:
        """Return the same for a new connection."""
        self._board = board
        return self

    @property
    def directory(self) -> str:
        """A directory beside GRUB's."""
        return posixpath.join(posixpath.dirname(self._where[0]), board_files.OURS)

    def own(self) -> Entry:
        """Return the entry that is running, else the first of grub.cfg."""
        entry = entry_of(self._block())
        if entry is None:
            raise BootMethodError(f"{self._board.name}: grub.cfg has no entry with a kernel")
        return entry

    def path(self, on_board: str) -> str:
        """Return the path from the root of its partition."""
        if not self._root:
            self._root = board_files.mount_point(self._board, posixpath.dirname(self.directory))
        return "/" + posixpath.relpath(on_board, self._root)

    def touches(self) -> list[str]:
        """Return custom.cfg and grubenv."""
        return [f"{self._where[0]}/{CUSTOM}", f"{self._where[0]}/grubenv"]

    def arm(self, entry: Entry) -> None:
        """Write the entry into custom.cfg, and have it booted once."""
        where, grub_reboot = self._where
        custom = f"{where}/{CUSTOM}"
        text = board_files.read_text(self._board, custom) or ""
        text = f"{text.rstrip()}\n{entry_text(self._block(), entry)}".lstrip("\n")
        self._board.put(text.encode("utf-8", "surrogateescape"), custom)
        board_files.sync(self._board)
        command = [grub_reboot, f"--boot-directory={posixpath.dirname(where)}", LABEL]
        board_files.run(self._board, command, "choosing the entry of the next boot")

    def disarm(self) -> None:
        """Do nothing: grubenv, which is put back, has the entry of the next boot."""

    def start(self, entry: Entry, notify: Notify) -> None:
        """Boot anew: GRUB has the entry of the next boot."""
        del entry
        restart(self._board, notify)

    @property
    def _where(self) -> tuple[str, str]:
        if self._place is None:
            for where, tool in _PLACES:
                if board_files.exists(self._board, f"{where}/grub.cfg"):
                    self._place = where, tool
                    break
            else:
                raise BootMethodError(f"{self._board.name}: there is no /boot/grub/grub.cfg")
        return self._place

    def _block(self) -> list[str]:
        text = board_files.read_text(self._board, f"{self._where[0]}/grub.cfg") or ""
        if CUSTOM not in text:
            raise BootMethodError(
                f"{self._board.name}: grub.cfg does not read {CUSTOM} (Debian's 41_custom has it "
                "do so): run update-grub"
            )
        line = words_of((board_files.read_text(self._board, "/proc/cmdline") or "").strip())
        image = next((word[11:] for word in line if word.startswith("BOOT_IMAGE=")), "")
        block = block_of(text, image)
        if block is None:
            raise BootMethodError(f"{self._board.name}: grub.cfg has no entry with a kernel")
        return block
