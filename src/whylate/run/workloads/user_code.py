"""The grammar of sections of user code: FILE:PLACE, FILE:BEGIN..FILE:END."""

from __future__ import annotations

import re
from typing import Literal

from whylate.recording.workloads.section import UserCode
from whylate.run.errors import RequestError
from whylate.text import plain
from whylate.wire.constants import LONGEST_PLACE

_PRINTED = re.compile(r"[!-~]+")
_OFFSET = re.compile(r"0x[0-9a-fA-F]{1,16}")
_PROBE = re.compile(r"[^\s:]+:[^\s:]+")
#: What whylate_section.h emits: its provider, and what it appends to a section's name.
MARKS, MARK_BEGIN, MARK_END = "whylate", "_begin", "_end"
_WRITE = "write FILE:FUNCTION, FILE:BEGIN..END or FILE:PROVIDER:NAME"


def is_user_code(text: str) -> bool:
    """Whether a section names a file: a path, a name with a dot, or the name of a program."""
    file, colon, rest = text.partition(":")
    if not colon:
        return False
    return "/" in file or (".." not in file and ("." in file or ".." not in rest))


def parse_user_code(text: str, hook: Literal["best", "uprobe"] = "best") -> UserCode:
    """Return the section of user code that a user names; raises RequestError."""
    file, _, rest = text.partition(":")
    length = _rust_name(rest)
    begin, dots, end = rest[:length], "", ""
    if rest[length:]:
        more, dots, end = rest[length:].partition("..")
        begin += more
    end = end.removeprefix(f"{file}:")
    if dots and not end:
        raise RequestError(f"{plain(text, 80)!r} does not say where it ends: {_WRITE}")
    provider, colon, name = begin.partition(":")
    if dots and colon and ":" not in end and not _OFFSET.fullmatch(end):
        end = f"{provider}:{end}"
    elif not dots and colon and provider == MARKS:
        begin, end = f"{MARKS}:{name}{MARK_BEGIN}", f"{MARKS}:{name}{MARK_END}"
    place = UserCode(file=file, begin=begin, end=end, hook=hook)
    check_user_code(place)
    return place


def check_user_code(place: UserCode) -> None:
    """Raise RequestError for names that no file has."""
    if not place.file or len(place.file.encode()) > LONGEST_PLACE or not place.file.isprintable():
        raise RequestError(f"{plain(place.file, 80)!r} is no name of a file: {_WRITE}")
    for name in (place.begin, *([place.end] if place.end else [])):
        if len(name) > LONGEST_PLACE or not _PRINTED.fullmatch(name):
            raise RequestError(f"{plain(name, 80)!r} is no place in a file: {_WRITE}")
        if "/" in name.partition(":")[0] and ":" in name:
            raise RequestError("a section of user code begins and ends in one file")
        if ":" in name and not _PROBE.fullmatch(name):
            raise RequestError(f"{plain(name, 80)!r} is no USDT probe: write PROVIDER:NAME")


def _rust_name(text: str) -> int:
    """Return the length of the mangled name of Rust that a text begins with; 0: it does not.

    These names have dots: _ZN58_$LT$alloc..string..String$u20$as$u20$...E
    """
    if not text.startswith("_ZN"):
        return 0
    at = 3
    while (match := re.compile(r"\d{1,4}").match(text, at)) is not None:
        at = match.end() + int(match[0])
    return at + 1 if text[at : at + 1] == "E" else 0
