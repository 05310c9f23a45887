"""Uses of a bench's boards by their addresses: `ssh://root@board7` takes no lock of the bench."""

from __future__ import annotations

import contextlib
import socket

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.boards.notes import Use, read_holder, read_uses
from whylate.boards.ssh import parse_url
from whylate.boards.state import state_directories

_PORT = 22


def refuse_used(board: Board) -> None:
    """Raise BoardError where a whylate of this user uses a held board by its address.

    Names that are only known to ssh's configuration are not found.
    """
    address = getattr(board, "ssh_address", None)
    if address is None:
        return
    for directory in state_directories():
        for use in read_uses(directory):
            if use.board.startswith("ssh://") and _is_at(use, *address):
                holder = read_holder(use.pid)
                user = f" of {holder.user}" if holder is not None else ""
                raise BoardError(
                    f"{board.name} is used as {use.board} by process {use.pid}{user}: it stays as "
                    "it is"
                )


def _is_at(use: Use, host: str, port: int) -> bool:
    try:
        used = parse_url(use.board)
    except BoardError:
        return False
    if (used.port or _PORT) != port:
        return False
    return used.host == host or not _addresses(used.host).isdisjoint(_addresses(host))


def _addresses(host: str) -> frozenset[str]:
    with contextlib.suppress(OSError, UnicodeError):
        return frozenset(str(info[4][0]) for info in socket.getaddrinfo(host, None))
    return frozenset()
