"""What the fuzzers of files begin with: small real files, and pieces of large ones.

The time of a case goes by the size of its file, and most faults of a reader need a few lines alone:
a piece of 2 KB is tried twenty times while its file of 80 KB is tried once.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parents[1]
#: Larger files are cut into pieces.
SMALL = 1500
#: A file up to this size is tried as a whole too; JSON, which a piece of it is not, only so.
WHOLE = 4000
#: The largest that is read of a file.
LARGEST = 200_000
#: Pieces of a file, and their lines.
PIECES = 12
LINES = (3, 6, 10, 16, 24)
#: Lines at the beginning by which a tool is known, where they look like a heading.
_HEADING = 12
_NO_SEEDS = (".py", ".pyc", ".md", ".gz", ".sh")


def files_in(folders: Iterable[str]) -> list[bytes]:
    """Return the files of other tools in folders of the tests, or their beginnings."""
    return [
        path.read_bytes()[:LARGEST]
        for folder in folders
        for path in sorted((TESTS / folder).rglob("*"))
        if path.is_file() and path.suffix not in _NO_SEEDS
    ]


def texts_in_tests(folders: Iterable[str]) -> list[bytes]:
    """Return the texts of several lines that tests hold: forms of which there is no file."""
    texts: dict[bytes, None] = {}
    for folder in folders:
        for path in sorted((TESTS / folder).glob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                    if text.count("\n") > 1 and len(text) < SMALL:
                        texts[text.encode("utf-8", "surrogatepass")] = None
    return list(texts)


def pieces_of(data: bytes) -> list[bytes]:
    """Return a small file as it is, and pieces of a large one: its heading with some lines each."""
    if len(data) <= SMALL or (len(data) <= WHOLE and data.lstrip()[:1] in (b"{", b"[")):
        return [data]
    lines = data.split(b"\n")
    heading = [line for line in lines[:_HEADING] if not line[:1].isspace() or b"#" in line][:8]
    chance = random.Random(len(data))  # the same pieces each time
    pieces = [data] if len(data) <= WHOLE else []
    for number in range(PIECES):
        count = LINES[number % len(LINES)]
        at = 0 if number == 0 else chance.randrange(max(len(lines) - count, 1))
        # The end has the summary of many tools.
        at = max(len(lines) - count, 0) if number == 1 else at
        pieces.append(b"\n".join([*heading, *lines[at : at + count]]) + b"\n")
    return pieces
