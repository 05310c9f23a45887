"""What a board prints does nothing to the terminal of whoever looks."""

from __future__ import annotations

import io

import pytest

from whylate.cli.board.run import pass_on
from whylate.cli.board.terminal_filter import LONGEST_HALF, TerminalFilter

TITLE = b"\x1b]0;owned\x07"


def test_colours_and_cursor_movements_pass() -> None:
    text = b"\x1b[31mred\x1b[0m \x1b[6n\x1b[2J \xc3\xa9\r\n"
    assert TerminalFilter().feed(text) == text


@pytest.mark.parametrize("kind", [b"]", b"P", b"X", b"^", b"_"])
def test_commands_that_reach_beyond_the_screen_are_shown(kind: bytes) -> None:
    assert TerminalFilter().feed(b"a\x1b" + kind + b"b") == b"a\\x1b" + kind + b"b"


def test_they_are_found_in_eight_bits_too() -> None:
    assert TerminalFilter().feed("\x9d0;t".encode()) == b"\\x9d0;t"
    assert TerminalFilter().feed(b"\x05") == b"\\x05"


def test_they_are_found_where_the_board_pauses_in_the_middle() -> None:
    screen = TerminalFilter()
    shown = b"".join(screen.feed(TITLE[n : n + 1]) for n in range(len(TITLE)))
    assert shown == b"\\x1b]0;owned\x07"


def test_output_of_a_command_is_harmless_on_a_terminal_and_exact_in_a_file() -> None:
    data = TITLE + b"\x1b[31m\ttext\n\xff"
    screen, file = io.BytesIO(), io.BytesIO()
    pass_on(data, screen, terminal=True)
    assert screen.getvalue() == b"\\x1b]0;owned\\x07\\x1b[31m\ttext\n\\xff"
    pass_on(data, file, terminal=False)
    assert file.getvalue() == data


@pytest.mark.parametrize("kind", [b"]", b"P", b"X", b"^", b"_"])
@pytest.mark.parametrize(
    "between", [b"\0", b"\x7f", b"\n\r", b"\x05", b"\x18", b"\xc2\x9d", b"\xe9"]
)
def test_control_characters_behind_the_escape_do_not_get_them_through(
    kind: bytes, between: bytes
) -> None:
    data = b"a\x1b" + between + kind + b"52;c;b"
    shown = b"a\\x1b" + b"".join(b"\\x%02x" % byte for byte in between) + kind + b"52;c;b"
    assert TerminalFilter().feed(data) == shown
    for cut in range(len(data)):
        screen = TerminalFilter()
        assert screen.feed(data[:cut]) + screen.feed(data[cut:]) == shown
    screen = TerminalFilter()
    assert b"".join(screen.feed(data[n : n + 1]) for n in range(len(data))) == shown


def test_an_escape_is_not_waited_with_for_ever() -> None:
    screen = TerminalFilter()
    shown = b"".join(screen.feed(b"\x1b" if n == 0 else b"\0") for n in range(LONGEST_HALF + 1))
    assert shown == b"\\x1b" + b"\0" * LONGEST_HALF
    assert screen.feed(TITLE[1:]) == TITLE[1:], "it is text now"
    # What is let go of is not the beginning of another one.
    screen = TerminalFilter()
    shown = screen.feed(b"\x1b" + b"\0" * LONGEST_HALF + b"\xc2") + screen.feed(b"\x9d0;t")
    assert shown == b"\\x1b" + b"\0" * LONGEST_HALF + b"\\x9d0;t"
