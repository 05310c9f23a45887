"""Finding the drivers and resources of a labgrid target."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whylate.boards.errors import BoardError
from whylate.boards.labgrid.calls import bounded
from whylate.boards.ssh import SshBoard, parse_url
from whylate.text import clean


def driver_of(target: Any, protocol: str) -> Any | None:
    """Return the target's driver with a protocol of labgrid, or None; raises BoardError.

    It is not activated. Among several, labgrid's priorities decide.
    """
    from labgrid import protocol as protocols
    from labgrid.exceptions import NoDriverFoundError

    cls = getattr(protocols, protocol)
    if not any(isinstance(driver, cls) for driver in target.drivers):
        return None
    try:
        return target.get_driver(cls, activate=False)
    except NoDriverFoundError:
        raise BoardError(
            f"the target {target.name} has several drivers with the {protocol}: remove those "
            "that are not the board's"
        ) from None


def named(things: Iterable[Any], *names: str) -> Any | None:
    """Return the first driver or resource whose class, or a base of it, has one of these names."""
    for thing in things:
        if any(cls.__name__ in names for cls in type(thing).__mro__):
            return thing
    return None


def ssh_board(target: Any, options: tuple[str, ...]) -> tuple[SshBoard, tuple[str, int]] | None:
    """Return the connection over SSH and its address, where the target has a NetworkService.

    labgrid's own SSHDriver does not notice that a board was switched off, and its run() leaves a
    command running after a timeout; only its user and key file are used. The board is reached over
    labgrid's proxy where there is one. Raises BoardError.
    """
    service = named(target.resources, "NetworkService")
    if service is None:
        return None
    driver = named(target.drivers, "SSHDriver")
    user = getattr(driver, "username", "") or service.username
    key = getattr(driver, "keyfile", "")
    if key:
        path = target.env.config.resolve_path(key) if target.env is not None else key
        options = (*options, "-oIdentitiesOnly=yes", f"-oIdentityFile={path}")
    host = f"[{service.address}]" if ":" in service.address else service.address
    jump = _proxy_of(target.name, service)
    board = SshBoard(f"ssh://{user}@{host}:{service.port}", options=options, jump=jump)
    return board, (service.address, service.port)


def _proxy_of(board: str, service: Any) -> str:
    """Return labgrid's proxy to a NetworkService, "" for none; raises BoardError.

    As for labgrid's own SSHDriver it is the exporter that offers the service, where the exporter
    requires that or LG_PROXY is set, and LG_PROXY for a service of an environment file.
    """
    extra = getattr(service, "extra", None) or {}
    forced = os.environ.get("LG_PROXY", "")
    proxy = extra.get("proxy") or forced if forced or extra.get("proxy_required") else ""
    if not proxy:
        return ""
    if "%" in service.address:
        raise BoardError(
            f"{board} is at {clean(service.address, 80)}, an interface of its exporter's: give it "
            "an address without %, or a name that has a ProxyCommand in ~/.ssh/config"
        )
    try:
        parse_url(f"ssh://{proxy}")
    except BoardError:
        raise BoardError(
            f"{board}: labgrid's proxy {clean(str(proxy), 80)!r} is not [user@]host[:port]: see "
            "LG_PROXY, and the host name of its exporter"
        ) from None
    return str(proxy)


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
