"""Read lines of text files: bounded, without what mails and Markdown put round them."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from whylate.recording.imported.binaries import BEGINNING, what_binary
from whylate.recording.imported.model import InputError

#: Bytes and lines of a file, and bytes of JSON.
MOST_BYTES = 256 << 20
MOST_LINES = 4_000_000
MOST_JSON = 64 << 20
_QUOTED = re.compile(r"^(?:[ \t]{0,8}>[ \t]?)+")
#: Blanks that a mail program or a browser put in the place of others; between two digits they may
#: part thousands.
_HARD_BLANK = re.compile("(?<![0-9])[\u00a0\u2007\u202f]+|[\u00a0\u2007\u202f]+(?![0-9])")
#: Lines of text before JSON, and documents of a file.
_MOST_BEFORE = 64
_MOST_DOCUMENTS = 1000
_NEXT_DOCUMENT = re.compile(r"\n[ \t]*([{\[])")
#: Markdown's fences round code.
_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]{0,20}\s*")


def unquoted(path: Path) -> Iterator[str]:
    """Yield the lines of a file without the quote marks of a mail; fences are empty lines.

    Without a byte order mark, and with blanks for those that do not break. Raises InputError.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # It is read more than once: a pipe will not do.
            raise InputError(f"{path} is not a regular file")
        with path.open("rb") as raw, TextIOWrapper(raw, "utf-8-sig", "replace") as file:
            _raise_if_binary(path, raw.peek(BEGINNING)[:BEGINNING])
            if status.st_size > MOST_BYTES:
                raise InputError(
                    f"{path} is larger than {MOST_BYTES >> 20} MiB, which is the most that is read "
                    f"of a file: cut it with `split -C {MOST_BYTES >> 20}m {path}`"
                )
            for number, line in enumerate(file):
                if number == MOST_LINES:
                    raise InputError(
                        f"{path} has more than {MOST_LINES:,} lines, which is the most that is "
                        f"read of a file: cut it with `split -l {MOST_LINES} {path}`"
                    )
                yield _bare(line.rstrip("\r\n"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _raise_if_binary(path: Path, beginning: bytes) -> None:
    what = what_binary(beginning)
    if what is not None:
        raise InputError(f"{path} is {what.format(path)}")


def _bare(line: str) -> str:
    if not line.isascii():
        line = _HARD_BLANK.sub(lambda blanks: " " * len(blanks[0]), line)
    if ">" in line:
        line = _QUOTED.sub("", line)
    if ("`" in line or "~" in line) and _FENCE.fullmatch(line):
        return ""
    return line


def json_documents(path: Path) -> list[dict[str, Any] | list[Any]]:
    """Return the objects and lists that a file holds as JSON, one after the other.

    Each begins a line. A few lines of text may stand before the first, as tools print them, and
    between them; none where the file is no JSON. Raises InputError.
    """
    parts: list[str] = []
    size = before = 0
    for text in unquoted(path):
        if not parts and not text.lstrip().startswith(("{", "[")):
            before += 1
            if before > _MOST_BEFORE:
                return []
            continue
        parts.append(text)
        size += len(text) + 1
        if size > MOST_JSON:
            if parts[0].lstrip().startswith("["):
                # A log whose lines begin with a time stamp does too.
                return []
            raise InputError(f"{path} is too large for JSON: {MOST_JSON >> 20} MiB are the most")
    return _documents("\n".join(parts))


def _documents(text: str) -> list[dict[str, Any] | list[Any]]:
    decoder = json.JSONDecoder()
    documents: list[dict[str, Any] | list[Any]] = []
    at = len(text) - len(text.lstrip())
    while len(documents) < _MOST_DOCUMENTS:
        try:
            document, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            # Text; or JSON that was cut, which is refused as a whole.
            break
        if isinstance(document, dict | list):
            documents.append(document)
        following = _NEXT_DOCUMENT.search(text, end)
        if following is None:
            return documents
        at = following.start(1)
    return []
