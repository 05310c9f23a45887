"""labgrid's SD muxes: who has the card, and which block device it is here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate.boards.board import BoardError
from whylate.boards.labgrid.calls import bounded
from whylate.boards.labgrid.drivers import named

#: The drivers that switch a mux, by name: labgrid has no protocol for them.
MUX_DRIVERS = ("USBSDMuxDriver", "USBSDWireDriver", "USBSDWire3Driver")
STORAGE_DRIVER = "USBStorageDriver"


class LabgridCard:
    """A card in an SD mux. Implements whylate.boards.flash.CardMux.

    The device is that of the storage driver's resource where the target has one, else the mux's.
    """

    def __init__(self, board: str, target: Any, mux: Any, storage: Any | None) -> None:
        self._board = board
        self._target = target
        self._mux = mux
        self._resource = mux.mux if storage is None else storage.storage

    def to_host(self) -> Path:
        """Give the card to this host and return its device; raises BoardError."""
        self._switch("host")
        if getattr(self._resource, "host", None) not in (None, "", "localhost"):
            raise BoardError(
                f"{self._board}: its card is in a mux on {self._resource.host}: flash it from "
                "there (the image is written where the mux is)"
            )
        bounded(
            f"{self._board}: waiting for its card reader",
            lambda: self._target.await_resources([self._resource]),
        )
        path = self._resource.path
        if not path:
            raise BoardError(f"{self._board}: its SD mux has no block device here")
        return Path(path)

    def to_board(self) -> None:
        """Give the card to the board; raises BoardError."""
        self._switch("dut")

    def _switch(self, mode: str) -> None:
        what = f"{self._board}: switching its SD mux to {'the host' if mode == 'host' else 'it'}"

        def switch() -> None:
            self._target.activate(self._mux)
            self._mux.set_mode(mode)

        bounded(what, switch)


def card_of(board: str, target: Any) -> LabgridCard:
    """Return the card of a target; raises BoardError where it has no SD mux."""
    mux = named(target.drivers, *MUX_DRIVERS)
    if mux is None:
        raise BoardError(f"{board} has no SD mux: its target needs one of {', '.join(MUX_DRIVERS)}")
    return LabgridCard(board, target, mux, named(target.drivers, STORAGE_DRIVER))
