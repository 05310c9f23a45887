"""Lines of text files from anywhere: bounded, and without the quoting of mails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from whylate.recording.foreign.model import ForeignError

#: Larger files are no results of a benchmark.
MOST_BYTES = 256 << 20
#: More activations than this are not unfolded from a histogram.
MOST_ACTIVATIONS = 200_000_000
_QUOTED = re.compile(r"^(?:\s?>[ \t]?)+")


def unquoted(path: Path) -> Iterator[str]:
    """Give the lines of a file, less the marks before them where a mail quotes them.

    Raises ForeignError.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ForeignError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                yield _QUOTED.sub("", line.rstrip("\r\n"))
    except OSError as error:
        raise ForeignError(f"{path} cannot be read: {error.strerror}") from None
