"""The options of a board."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from whylate.boards.waiting import Waiting


@dataclass(frozen=True)
class BoardOptions:
    """Options of a board besides its name."""

    #: CPUs of a virtual board; None: as in its description.
    cpus: int | None = None
    #: Words for the kernel's command line of a virtual board.
    kernel_args: tuple[str, ...] = ()
    #: labgrid's environment file; None: LG_ENV, if that is set.
    environment: Path | None = None
    #: A port of this machine that is forwarded to a virtual board's SSH server, and the file with
    #: the public key that may log in there as root; both or none.
    ssh_port: int | None = None
    ssh_key: Path | None = None
    #: A tarball of a root file system that a virtual board boots.
    root: Path | None = None
    #: For boards that have a lock or a place: virtual boards, and those of labgrid.
    waiting: Waiting = field(default_factory=Waiting)
