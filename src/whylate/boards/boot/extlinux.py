"""The boot method `extlinux`: a label of its own in extlinux.conf, and `extlinux --once`.

That is of SYSLINUX's EXTLINUX, which removes the mark before it boots the label. U-Boot reads
extlinux.conf too and knows no such mark: it needs the method u-boot or u-boot-env.
"""

from __future__ import annotations

import posixpath

from whylate.boards.board import Notify
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry
from whylate.boards.boot.extlinux_conf import label_text
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.of_extlinux_conf import LABEL, OfExtlinuxConf
from whylate.boards.boot.restart import restart


class Extlinux(OfExtlinuxConf):
    """Boots a board by EXTLINUX. Implements BootMethod."""

    name = "extlinux"
    starts_cold = False

    def own(self) -> Entry:
        """Return the default of extlinux.conf."""
        if not board_files.exists(self._board, f"{self._loader}/ldlinux.sys"):
            raise BootMethodError(
                f"{self._board.name}: {self._loader} has no ldlinux.sys: its boot loader is "
                "another that reads extlinux.conf, as U-Boot, and cannot boot a label once; "
                "declare the method u-boot or u-boot-env"
            )
        return super().own()

    def touches(self) -> list[str]:
        """Return extlinux.conf."""
        return [self.conf]

    def arm(self, entry: Entry) -> None:
        """Append the label, and have it booted once."""
        text = board_files.read_text(self._board, self.conf) or ""
        text = f"{text.rstrip()}\n{label_text(LABEL, entry)}"
        self._board.put(text.encode("utf-8", "surrogateescape"), self.conf)
        board_files.sync(self._board)
        self._extlinux(f"--once={LABEL}")

    def disarm(self) -> None:
        """Remove the mark."""
        self._extlinux("--clear-once")

    def start(self, entry: Entry, notify: Notify) -> None:
        """Boot anew: EXTLINUX has the label of the next boot."""
        del entry
        restart(self._board, notify)

    @property
    def _loader(self) -> str:
        return posixpath.dirname(self.conf)

    def _extlinux(self, option: str) -> None:
        board_files.run(self._board, ["extlinux", option, self._loader], "marking the next boot")
