"""Change a text file as damage, an editor, a mail or an enemy does: by one random generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import fuzz_case

#: Numbers as text that readers get wrong, beside those of fuzz_case.BOUNDS.
NUMBERS = [
    b"nan", b"-nan", b"inf", b"-inf", b"infinity", b"1e999", b"-1e999", b"1e-999", b"1e308",
    b"1e100", b"1e101", b"5e-324", b"0x10", b"1_000", b"1,5", b"1.5.5", b"1.", b".5", b"-0", b"+1",
    b"--1", b"", b"00000000000000000001", b"9" * 20, b"9" * 400, b"9" * 5000,
    b"0." + b"0" * 400 + b"1", b"1" + b"0" * 15, b"1" + b"0" * 18, b"999999999999999",
    b"1000000000000001", b"\xd9\xa1\xd9\xa2", b"\xc2\xb2", b"\xef\xbc\x91", b"1'000", b"1 000",
    b"1\xc2\xa0000", b"50%", b"N/A", b"null",
]  # fmt: skip
#: What stands between lines, words and characters.
_ODD = [
    b"\r", b"\r\n", b"\n\n", b"\t", b"\v", b"\f", b"\0", b"\x1b[31m", b"\x1c", b"\xc2\x85",
    b"\xc2\xa0", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xed\xa0\x80", b"\x80", b"\xb5", b"\xc2\xb5s", b"\xce\xbcs", b"us", b"ns", b"ms", b"#",
    b'"', b"'", b",", b";", b":", b"|", b"[", b"]", b"{", b"}", b"%", b"{0}", b"%s", b"=", b"-",
    b"=>", b"..", b"=C2=A0", b"=\n", b"```\n", b"> ",
]  # fmt: skip
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w./-]*")
Lines = list[bytes]


def other_number(chance: random.Random, old: bytes) -> bytes:
    """Return a number as text: at a bound, none at all, or the old one a little changed."""
    where = chance.random()
    if where < 0.4:
        return str(fuzz_case.number(chance)).encode()
    if where < 0.7:
        return chance.choice(NUMBERS)
    changed = [old + b"0", b"-" + old, old[:-1], old + b".5", old + b"e9", old * 2, b"0" + old]
    return chance.choice([*changed, b"1", b"0"])


def _numbers(chance: random.Random, data: bytes) -> bytes:
    """Change some numbers; now and then all that are equal to one."""
    places = list(_NUMBER.finditer(data))
    if not places:
        return data + chance.choice(NUMBERS)
    chosen = chance.choice(places)
    new = other_number(chance, chosen[0])
    if chance.random() < 0.1:
        return data.replace(chosen[0], new)
    return data[: chosen.start()] + new + data[chosen.end() :]


def _words(chance: random.Random, data: bytes) -> bytes:
    """Drop, double or exchange words."""
    places = list(_WORD.finditer(data))
    if not places:
        return data
    one, two = chance.choice(places), chance.choice(places)
    new = chance.choice([b"", one[0] * 2, two[0], one[0][:-1], one[0].swapcase(), two[0] + b" "])
    if chance.random() < 0.1:
        return data.replace(one[0], new)
    return data[: one.start()] + new + data[one.end() :]


def _insert(chance: random.Random, data: bytes) -> bytes:
    """Insert something odd, most often between two words."""
    at = chance.randrange(len(data) + 1)
    if chance.random() < 0.7 and (blank := data.find(b" ", at)) >= 0:
        at = blank + chance.randrange(2)
    return data[:at] + chance.choice(_ODD) * chance.choice([1, 1, 1, 2, 40]) + data[at:]


def _drop_lines(chance: random.Random, lines: Lines) -> None:
    at = chance.randrange(len(lines))
    del lines[at : at + chance.choice([1, 1, 2, 5])]


def _double_lines(chance: random.Random, lines: Lines) -> None:
    at = chance.randrange(len(lines))
    part = lines[at : at + chance.choice([1, 1, 2, 8])]
    to = at if chance.random() < 0.6 else chance.randrange(len(lines))
    lines[to:to] = part * chance.choice([1, 1, 1, 2, 8])


def _swap_lines(chance: random.Random, lines: Lines) -> None:
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]


def _join_lines(chance: random.Random, lines: Lines) -> None:
    at = chance.randrange(len(lines))
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _break_line(chance: random.Random, lines: Lines) -> None:
    at = chance.randrange(len(lines))
    line = lines[at]
    where = chance.randrange(len(line) + 1)
    lines[at : at + 1] = [line[:where], line[where:]]


def _cut_line(chance: random.Random, lines: Lines) -> None:
    at = chance.randrange(len(lines))
    lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]


def _move_column(chance: random.Random, lines: Lines) -> None:
    """Take a cell from all lines, or double it: a table whose columns moved."""
    at, copies = chance.randrange(6), chance.choice([0, 2])
    for number, line in enumerate(lines):
        cells = line.split(b" ")
        cells[at : at + 1] = cells[at : at + 1] * copies
        lines[number] = b" ".join(cells)


def _prefix_lines(chance: random.Random, lines: Lines) -> None:
    """Put before all lines what mails, logs and documents put there."""
    before = chance.choice(
        [b"> ", b">> ", b"    ", b"\t", b"\xc2\xa0 ", b"[ 1.000000] ", b"# ", b"| "]
    )
    lines[:] = [before + line for line in lines]


_OF_LINES: tuple[Callable[[random.Random, Lines], None], ...] = (
    _drop_lines, _drop_lines, _double_lines, _double_lines, _swap_lines, _join_lines, _break_line,
    _cut_line, _move_column, _prefix_lines,
)  # fmt: skip


def _lines(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    chance.choice(_OF_LINES)(chance, lines)
    return b"\n".join(lines)


def _encoded(chance: random.Random, data: bytes) -> bytes:
    """Write the text as another program would."""
    where = chance.randrange(8)
    if where == 0:
        return data.decode("utf-8", "replace").encode(
            chance.choice(["utf-16", "utf-16-le", "utf-32"]), "surrogatepass"
        )
    if where == 1:
        return data.decode("utf-8", "replace").encode("latin-1", "replace")
    old, new = [
        (b"\n", b"\r\n"), (b"\n", b"\r"), (b" ", b"\xc2\xa0"), (b" ", b"\t"), (b".", b","),
        (b" ", b""),
    ][where - 2]  # fmt: skip
    return data.replace(old, new)


def _end(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _bytes(chance: random.Random, data: bytes) -> bytes:
    return fuzz_case.damage(chance, data, 3)


def spliced(chance: random.Random, one: bytes, two: bytes) -> bytes:
    """Return the beginning of a text and the end of another, cut at lines."""
    a, b = one.split(b"\n"), two.split(b"\n")
    return b"\n".join(a[: chance.randrange(len(a) + 1)] + b[chance.randrange(len(b)) :])


_WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _numbers, _numbers, _numbers, _numbers, _words, _insert, _lines, _lines, _lines, _bytes,
)  # fmt: skip
_RARE: tuple[Callable[[random.Random, bytes], bytes], ...] = (_encoded, _end)


def mutate(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a text that was changed once or a few times; others: what is spliced with it."""
    if chance.random() < 0.06:
        data = spliced(chance, data, chance.choice(others))
    for _ in range(chance.choice([1, 1, 1, 1, 2, 2, 3, 5])):
        ways = _RARE if chance.random() < 0.06 else _WAYS
        data = chance.choice(ways)(chance, data)
    return data
