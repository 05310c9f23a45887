"""What a board gets for a run: files, and commands before and after it."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass

from whylate.boards.board import ImageFile
from whylate.boards.errors import BoardError
from whylate.run.errors import RequestError

#: A file takes this long over a console at 115,200 bits/s: a quarter of an hour.
MAX_FILE = 8 << 20
_MAX_FILES, _MAX_COMMANDS, _MAX_COMMAND = 16, 16, 2000
_PATH = re.compile(r"(/[A-Za-z0-9._+@-]+)+")
_MAX_PATH = 200
#: Not files that hold data, or the place of what whylate itself puts there.
_ROOTS = ("proc", "sys", "dev", "whylate")

#: The words of a command, which runs without a shell.
Words = tuple[str, ...]


class PreparationError(BoardError):
    """A board that answers, and did not become ready for a run: a command failed there."""


@dataclass(frozen=True)
class Preparation:
    """What is on the board during a run.

    files: written before it, and put back to what was there after it. before, after: commands that
    run on the board, in this order, once the files are there, and before they are put back.
    """

    files: tuple[ImageFile, ...] = ()
    before: tuple[Words, ...] = ()
    after: tuple[Words, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.files or self.before or self.after)


#: A board as it is.
NOTHING = Preparation()


def check_paths(paths: list[str]) -> None:
    """Raise RequestError for a path that no file of a run can have on a board."""
    if len(paths) > _MAX_FILES or len(set(paths)) < len(paths):
        raise RequestError(f"--put takes at most {_MAX_FILES} files, each to a path of its own")
    for path in paths:
        parts = path.split("/")[1:]
        if not _PATH.fullmatch(path) or len(path) > _MAX_PATH or {".", ".."} & set(parts):
            raise RequestError(
                f"--put: {path[:80]!r} is no path on a board: write it from /, with A-Z a-z 0-9 "
                "and . _ + @ -"
            )
        if parts[0] in _ROOTS:
            raise RequestError(f"--put: no file can be put to {path}: choose another directory")


def parse_commands(option: str, texts: list[str]) -> list[list[str]]:
    """Return the words of commands, as a shell splits them; raises RequestError."""
    if len(texts) > _MAX_COMMANDS:
        raise RequestError(f"{option} can be given {_MAX_COMMANDS} times")
    commands = []
    for text in texts:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise RequestError(f"{option}: {error}") from None
        if not words or len(text) > _MAX_COMMAND or not text.isprintable():
            raise RequestError(
                f"{option} takes a command of at most {_MAX_COMMAND} printable characters"
            )
        commands.append(words)
    return commands


def check_script(file: ImageFile) -> str:
    """Return a line of shell that fails where a file on the board is not this one.

    Where the board has no sha256sum, its size is compared.
    """
    path, data, _ = file
    sha256, quoted = hashlib.sha256(data).hexdigest(), shlex.quote(path)
    return (
        f'case $(sha256sum {quoted} 2>/dev/null) in "{sha256} "*) true;; "") '
        f'[ "$(wc -c <{quoted})" -eq {len(data)} ];; *) false;; esac'
    )
