"""Command knobs: one command of the user reads a setting of the board, another writes it.

Both run on the board word by word, without a shell. The value replaces {value} in the words of the
second as it is; nothing interprets it as a command.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.run.errors import RequestError
from whylate.run.knobs.files import shorten
from whylate.text import clean

#: Stands for the value in the words of the command that writes.
VALUE = "{value}"
#: The longest value of a knob, in bytes.
MAX_VALUE = 1000
_MAX_WORDS = 64
_MAX_COMMAND = 2000


class CommandKnob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The two commands, as a user writes them."""

    read: str
    write: str


@dataclass(frozen=True)
class CommandSetting:
    """A command knob, and the value that it is set to."""

    name: str
    knob: CommandKnob
    value: str


class KnobError(RequestError):
    """A knob that cannot be read, or does not accept a value, on a board that answers."""


def check_knob(name: str, knob: CommandKnob) -> None:
    """Raise RequestError for invalid commands."""
    for key, command in (("read", knob.read), ("write", knob.write)):
        words = _words(name, key, command)
        if not words or len(words) > _MAX_WORDS or len(command) > _MAX_COMMAND or "\0" in command:
            raise RequestError(
                f"knobs.{name}.{key}: write a command of at most {_MAX_WORDS} words and "
                f"{_MAX_COMMAND} characters"
            )
    if not any(VALUE in word for word in _words(name, "write", knob.write)):
        raise RequestError(f"knobs.{name}.write has no {VALUE}: put it where the value goes")


def read_knob(board: Board, name: str, knob: CommandKnob) -> str:
    """Return the knob's value, without surrounding blanks; raises KnobError, BoardError."""
    output = _run(board, name, _words(name, "read", knob.read))
    if len(output) > MAX_VALUE:
        raise KnobError(f"knob command:{name}: its value is longer than {MAX_VALUE} bytes")
    try:
        text = output.decode()
    except UnicodeDecodeError:
        raise KnobError(f"knob command:{name}: its value is not UTF-8") from None
    if "\0" in text:
        raise KnobError(f"knob command:{name}: its value has a zero byte")
    return text.strip()


def write_knob(board: Board, name: str, knob: CommandKnob, value: str) -> None:
    """Write a value and read it back; raises KnobError if they differ, and BoardError."""
    words = [word.replace(VALUE, value) for word in _words(name, "write", knob.write)]
    _run(board, name, words)
    read_back = read_knob(board, name, knob)
    if read_back != value:
        raise KnobError(
            f"knob command:{name}: {shorten(value)} was written, and {shorten(read_back)} is read "
            "back"
        )


def _words(name: str, key: str, command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise RequestError(f"knobs.{name}.{key}: {error}") from None


def _run(board: Board, name: str, words: Sequence[str]) -> bytes:
    """Return the output of a command; raises KnobError if it fails, and BoardError."""
    try:
        done = board.run(words)
    except BoardError as error:
        # A command that hangs or is missing is the knob's fault; a board that is gone is not.
        if _answers(board):
            raise KnobError(f"knob command:{name}: {error}") from None
        raise
    if done.status:
        output = clean((done.error or done.output).decode(errors="replace"), 200)
        raise KnobError(
            f"knob command:{name}: {clean(words[0], 80)} ended with status {done.status}"
            + (f" ({output})" if output else "")
        )
    return done.output


def _answers(board: Board) -> bool:
    try:
        return board.run(["true"]).status == 0
    except BoardError:
        return False
