"""Files of a board that a boot entry needs: kept, written, put back."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

import msgspec

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.text import clean

#: Bytes of a configuration file of a boot loader.
MOST_FILE = 1 << 20
#: The last part of the name of the directory that whylate makes on a board.
OURS = "whylate"


class Saved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it was. content: None: there was none. mode: its permissions, in octal."""

    path: str
    content: bytes | None = None
    mode: str = "644"


def run(board: Board, argv: Sequence[str], what: str, *, data: bytes = b"") -> bytes:
    """Return the output of a command; raises BoardError with `what` if it fails."""
    done = board.run(argv, data=data)
    if done.status:
        output = clean((done.error or done.output).decode(errors="replace"), 200)
        raise BoardError(
            f"{board.name}: {what}: {clean(argv[0], 80)} ended with status {done.status}"
            + (f" ({output})" if output else "")
        )
    return done.output


def exists(board: Board, path: str) -> bool:
    """Return whether there is such a file or directory."""
    return board.run(["test", "-e", path]).status == 0


def has_tool(board: Board, name: str) -> bool:
    """Return whether the board has a command."""
    return board.run(["sh", "-c", 'command -v "$1" >/dev/null', OURS, name]).status == 0


def read(board: Board, path: str) -> bytes | None:
    """Return what a file holds, None if there is none; raises BoardError."""
    if not exists(board, path):
        return None
    content = run(board, ["head", "-c", str(MOST_FILE + 1), path], f"reading {path}")
    if len(content) > MOST_FILE:
        raise BoardError(f"{board.name}: {path} has more than {MOST_FILE} bytes")
    return content


def read_text(board: Board, path: str) -> str | None:
    """Return the text of a file, None if there is none; raises BoardError."""
    content = read(board, path)
    return None if content is None else content.decode("utf-8", "surrogateescape")


def save(board: Board, path: str) -> Saved:
    """Return a file as it is; of a link, the file to which it leads. Raises BoardError."""
    if not exists(board, path):
        return Saved(path)
    output = run(board, ["readlink", "-f", path], f"resolving {path}")
    real = output.decode("utf-8", "surrogateescape").strip() or path
    mode = run(board, ["stat", "-c", "%a", real], f"reading {path}").decode("ascii", "replace")
    if not real.startswith("/") or not real.isprintable() or not _is_mode(mode.strip()):
        raise BoardError(f"{board.name}: {clean(path, 80)} is no file that can be put back")
    return Saved(real, read(board, real), mode.strip())


def put_back(board: Board, saved: Saved) -> None:
    """Give a file its former content; raises BoardError."""
    if saved.content is None:
        run(board, ["rm", "-f", saved.path], f"removing {saved.path}")
    elif read(board, saved.path) != saved.content:
        board.put(saved.content, saved.path, int(saved.mode, 8))


def sync(board: Board) -> None:
    """Have the board write everything to its disk; raises BoardError."""
    run(board, ["sync"], "writing its disk")


def make_directory(board: Board, path: str) -> None:
    """Make the directory for whylate's files; raises BoardError."""
    run(board, ["mkdir", "-p", _ours(board, path)], f"making {path}")


def remove_directory(board: Board, path: str) -> None:
    """Remove the directory with whylate's files; raises BoardError."""
    run(board, ["rm", "-rf", _ours(board, path)], f"removing {path}")
    sync(board)


def mount_point(board: Board, path: str) -> str:
    """Return where the file system that has this directory is mounted; raises BoardError."""
    output = run(board, ["df", "-P", path], f"looking for the partition of {path}")
    lines = output.decode("utf-8", "replace").splitlines()
    point = lines[-1].split(None, 5)[-1] if lines and len(lines[-1].split(None, 5)) == 6 else ""
    if not point.startswith("/") or posixpath.commonpath([point, path]) != point:
        raise BoardError(
            f"{board.name}: where {path} is on its partition cannot be seen ({clean(point, 80)})"
        )
    return point


def _ours(board: Board, path: str) -> str:
    """Return the path of a directory that is whylate's; raises BoardError for any other."""
    parts = path.split("/")
    if not path.startswith("/") or parts[-1] != OURS or len(parts) < 3 or ".." in parts:
        raise BoardError(f"{board.name}: {clean(path, 80)} is no directory of whylate's")
    return path


def _is_mode(text: str) -> bool:
    return 1 <= len(text) <= 4 and all(digit in "01234567" for digit in text)
