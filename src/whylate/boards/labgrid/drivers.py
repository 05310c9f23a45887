"""Finding the drivers and resources of a labgrid target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whylate.boards.board import BoardError
from whylate.boards.ssh import SshBoard


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
    command running after a timeout; only its user and key file are used.
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
    board = SshBoard(f"ssh://{user}@{host}:{service.port}", options=options)
    return board, (service.address, service.port)
