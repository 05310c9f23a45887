"""Read lines of text files: bounded, without the quoting of mails."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whylate.recording.imported.model import InputError

#: Bytes of a file, and of JSON.
MOST_BYTES = 256 << 20
MOST_JSON = 64 << 20
_QUOTED = re.compile(r"^(?:\s?>[ \t]?)+")


def unquoted(path: Path) -> Iterator[str]:
    """Yield the lines of a file without the quote marks of a mail.

    Raises InputError.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # It is read more than once: a pipe will not do.
            raise InputError(f"{path} is not a regular file")
        if status.st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                yield _QUOTED.sub("", line.rstrip("\r\n"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def json_object(path: Path) -> dict[str, Any] | None:
    """Return the object that a file holds as JSON; None where it holds none.

    Raises InputError.
    """
    parts: list[str] = []
    size = 0
    for line in unquoted(path):
        if not parts and not line.strip():
            continue
        if not parts and not line.lstrip("\ufeff \t").startswith("{"):
            return None
        parts.append(line)
        size += len(line)
        if size > MOST_JSON:
            raise InputError(f"{path} is too large for JSON: {MOST_JSON >> 20} MiB are the most")
    try:
        document = json.loads("\n".join(parts).lstrip("\ufeff")) if parts else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
