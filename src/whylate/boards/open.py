"""From a name on the command line to a board."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from whylate.boards.board import Board, ImageFile, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.options import BoardOptions
from whylate.files import read_bounded
from whylate.lab.description import names


def open_board(name: str, options: BoardOptions | None = None) -> Board:
    """Return the board of that name, not yet held; raises BoardError.

    `local`, `ssh://[user@]host[:port]`, a virtual board, or a target or place of labgrid.
    """
    options = options or BoardOptions()
    if name == "local":
        from whylate.boards.local import LocalBoard

        return LocalBoard()
    if name.startswith("ssh://"):
        from whylate.boards.ssh import SshBoard

        return SshBoard(name)
    if name in names():
        return _virtual(name, options)
    if _has_bench(options.environment):
        # Imported only here: it takes most of a second.
        from whylate.boards.labgrid.board import BenchOptions
        from whylate.boards.labgrid.open import labgrid_board

        bench = BenchOptions(waiting=options.waiting)
        return labgrid_board(name, options.environment, options=bench)
    raise BoardError(
        f"unknown board {name[:80]!r}: expected one of local, ssh://[user@]host, "
        f"{', '.join(names())}, and with --env, LG_ENV or LG_COORDINATOR those of labgrid"
    )


def declared_options(name: str, options: BoardOptions) -> Mapping[str, object]:
    """Return what labgrid's environment file declares of a board for whylate; raises BoardError.

    Nothing is touched. Empty for boards that are in no such file.
    """
    if name == "local" or name.startswith("ssh://") or name in names():
        return {}
    if options.environment is None and not os.environ.get("LG_ENV"):
        return {}
    from whylate.boards.labgrid.environment import declared_of, environment_file

    path = environment_file(options.environment)
    return {} if path is None else declared_of(path, name)


def all_boards(options: BoardOptions | None = None) -> list[str]:
    """Return the names of all boards except this machine; raises BoardError.

    The virtual boards that have an image, and labgrid's targets or places.
    """
    from whylate.lab.description import virtual_board
    from whylate.lab.image import is_fetched

    boards = [name for name in names() if is_fetched(virtual_board(name))]
    environment = options.environment if options is not None else None
    if _has_bench(environment):
        from whylate.boards.labgrid.open import bench_names

        boards += [name for name in bench_names(environment) if name not in names()]
    return boards


def hidden_boards(options: BoardOptions) -> list[str]:
    """Return the names of labgrid's targets or places that are names of virtual boards.

    Such a name means the virtual board. Raises BoardError.
    """
    if not _has_bench(options.environment):
        return []
    from whylate.boards.labgrid.open import bench_names

    return [name for name in bench_names(options.environment) if name in names()]


def _has_bench(environment: Path | None) -> bool:
    """Return whether the user has named a labgrid bench."""
    return environment is not None or any(map(os.environ.get, ("LG_ENV", "LG_COORDINATOR")))


def _virtual(name: str, options: BoardOptions) -> Board:
    from whylate.boards.qemu.board import QemuBoard, VirtualOptions
    from whylate.lab.description import virtual_board
    from whylate.lab.ssh import ssh_files

    board = virtual_board(name)
    files: tuple[ImageFile, ...] = ()
    if options.ssh_port is not None and options.ssh_key is not None:
        try:
            key = read_bounded(options.ssh_key, 1 << 16).decode()
        except (OSError, UnicodeDecodeError):
            raise BoardError(f"{options.ssh_key} cannot be read as a public key") from None
        files = tuple(ssh_files(board, key, notify_nobody))
    return QemuBoard(
        board,
        VirtualOptions(
            cpus=options.cpus,
            kernel_args=options.kernel_args,
            ssh_port=options.ssh_port,
            files=files,
            root=options.root,
            waiting=options.waiting,
        ),
    )
