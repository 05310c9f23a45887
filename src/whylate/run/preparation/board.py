"""A board that has the files of a run, in real time.

What was under their names is kept beside them on the board, so that also a host that was killed
leaves nothing lost: the next run puts it back, and so can anybody.

PATH.whylate-saved   what PATH was
PATH.whylate-new     there was no PATH: the topmost directory that was made for it, if any
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from whylate.boards.board import Board, ImageFile
from whylate.boards.errors import BoardError
from whylate.run.preparation.model import Preparation, PreparationError, Words, check_script
from whylate.text import clean

_COMMAND_S = 120.0
#: Does nothing where a run that was killed has done it: what is saved is what was there before.
_SAVE = (
    'p=$1; [ ! -d "$p" ] || { echo "is a directory"; exit 1; }; s=$p.whylate-saved;'
    ' [ ! -e "$s" ] && [ ! -L "$s" ] && [ ! -e "$p.whylate-new" ] || exit 0;'
    ' if [ -e "$p" ] || [ -L "$p" ]; then mv -f "$p" "$s"; exit; fi;'
    ' d=${p%/*}; t=; while [ -n "$d" ] && [ ! -d "$d" ]; do t=$d; d=${d%/*}; done;'
    ' { [ -z "$t" ] || mkdir -p "${p%/*}"; } && echo "$t" >"$p.whylate-new"'
)
_RESTORE = (
    'p=$1; s=$p.whylate-saved; if [ -e "$s" ] || [ -L "$s" ]; then mv -f "$s" "$p"; exit; fi;'
    ' [ -e "$p.whylate-new" ] || exit 0; t=$(cat "$p.whylate-new"); rm -f "$p" "$p.whylate-new"'
    ' || exit; [ -n "$t" ] || exit 0; d=${p%/*};'
    ' while rmdir "$d" 2>/dev/null && [ "$d" != "$t" ]; do d=${d%/*}; done; :'
)


@contextmanager
def prepared(board: Board, preparation: Preparation) -> Iterator[None]:
    """Have files and commands on a board during the context.

    Raises PreparationError for a command before the run that fails, and BoardError for all else,
    also for what could not be put back.
    """
    with contextlib.ExitStack() as undo:
        for file in preparation.files:
            _shell(board, _SAVE, file[0], "cannot be put there")
            undo.callback(_shell, board, _RESTORE, file[0], "could not be put back")
            _put(board, file)
        for words in preparation.before:
            _command(board, words, PreparationError)
        try:
            yield
        except BaseException:
            # The first error is raised.
            with contextlib.suppress(BoardError):
                _after(board, preparation)
            raise
        _after(board, preparation)


def _after(board: Board, preparation: Preparation) -> None:
    for words in preparation.after:
        _command(board, words, BoardError)


def _put(board: Board, file: ImageFile) -> None:
    path, data, mode = file
    board.put(data, path, mode)
    if board.run(["sh", "-c", check_script(file)], timeout_s=_COMMAND_S).status:
        raise BoardError(f"{path} on {board.name} is not what was put there")


def _shell(board: Board, script: str, path: str, failure: str) -> None:
    done = board.run(["sh", "-c", script, "whylate", path], timeout_s=_COMMAND_S)
    if done.status:
        why = clean((done.error or done.output).decode(errors="replace"), 200)
        raise BoardError(f"{path} of {board.name} {failure}: {why}")


def _command(board: Board, words: Words, error: type[BoardError]) -> None:
    done = board.run(words, timeout_s=_COMMAND_S)
    if done.status:
        why = clean((done.error or done.output).decode(errors="replace"), 200)
        name = clean(" ".join(words), 80)
        raise error(f"{name} ended with status {done.status} on {board.name} ({why})")
