"""By which lines the file of a tool is known: one pass over a file, whatever its size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from whylate.recording.imported.lines import unquoted

#: Of a line its beginning is searched.
_SEARCHED = 400


def find_signs(path: Path, signs: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the patterns that any line of a file matches somewhere.

    Of a line that several match the first counts. Raises InputError for a file that cannot be read
    or is too large.
    """
    pattern = re.compile("|".join(f"(?P<{name}>{sign})" for name, sign in signs.items()))
    names: set[str] = set()
    for line in unquoted(path):
        if line and (match := pattern.search(line, 0, _SEARCHED)) is not None and match.lastgroup:
            names.add(match.lastgroup)
    return frozenset(names)
