"""Knobs of one's own: one command reads it, another writes it.

Both are run on the board as they stand, word by word and without a shell; the value is put into
the words of the second as it is, and nothing reads it as a command.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from whylate.boards.board import Board, BoardError
from whylate.boards.facts.reading import clean
from whylate.run.errors import RequestError

#: Stands for the value in the words of the command that writes.
VALUE = "{value}"
#: Nothing longer is the value of a knob, in bytes.
MAX_VALUE = 1000
_MAX_WORDS = 64
_MAX_COMMAND = 2000


class CommandKnob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The two commands, as a user writes them."""

    read: str
    write: str


@dataclass(frozen=True)
class CommandSetting:
    """A knob of one's own, and what it is set to."""

    name: str
    knob: CommandKnob
    value: str


class KnobError(RequestError):
    """A knob that cannot be read, or does not take a value, on a board that is there."""


def check_knob(name: str, knob: CommandKnob) -> None:
    """Raise RequestError for commands that cannot be a knob's."""
    for key, command in (("read", knob.read), ("write", knob.write)):
        words = _words(name, key, command)
        if not words or len(words) > _MAX_WORDS or len(command) > _MAX_COMMAND or "\0" in command:
            raise RequestError(
                f"knobs.{name}.{key}: write a command of at most {_MAX_WORDS} words and "
                f"{_MAX_COMMAND} characters"
            )
    if not any(VALUE in word for word in _words(name, "write", knob.write)):
        raise RequestError(f"knobs.{name}.write has no {VALUE}: the value goes where that stands")


def read_knob(board: Board, name: str, knob: CommandKnob) -> str:
    """Return the knob's value, without blanks around it; raises KnobError, BoardError."""
    output = _run(board, name, _words(name, "read", knob.read))
    if len(output) > MAX_VALUE:
        raise KnobError(f"knob command:{name}: what it reads is longer than {MAX_VALUE} bytes")
    try:
        text = output.decode()
    except UnicodeDecodeError:
        raise KnobError(f"knob command:{name}: what it reads is no text in UTF-8") from None
    if "\0" in text:
        raise KnobError(f"knob command:{name}: what it reads has a zero byte in it")
    return text.strip()


def write_knob(board: Board, name: str, knob: CommandKnob, value: str) -> None:
    """Write a value and read it back; raises KnobError where it is another, and BoardError."""
    words = [word.replace(VALUE, value) for word in _words(name, "write", knob.write)]
    _run(board, name, words)
    back = read_knob(board, name, knob)
    if back != value:
        raise KnobError(
            f"knob command:{name}: {_short(value)} was written, and {_short(back)} is read back"
        )


def _words(name: str, key: str, command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise RequestError(f"knobs.{name}.{key}: {error}") from None


def _run(board: Board, name: str, words: Sequence[str]) -> bytes:
    """Return what a command prints; raises KnobError where it fails, and BoardError."""
    try:
        done = board.run(words)
    except BoardError as error:
        # A command that does not end, or is not there, is one thing, a board that is gone another.
        if _answers(board):
            raise KnobError(f"knob command:{name}: {error}") from None
        raise
    if done.status:
        said = clean((done.error or done.output).decode(errors="replace"), 200)
        raise KnobError(
            f"knob command:{name}: {clean(words[0], 80)} ended with status {done.status}"
            + (f" ({said})" if said else "")
        )
    return done.output


def _answers(board: Board) -> bool:
    try:
        return board.run(["true"]).status == 0
    except BoardError:
        return False


def _short(value: str) -> str:
    return repr(value if len(value) <= 60 else value[:60] + "…")
