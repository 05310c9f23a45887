"""Count the words that the glossary replaces, in a source tree.

By hand: python tests/house/words.py [DIRECTORY of a checkout].
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PLACES = ("src", "probe", "lab", "schema", "docs")
SUFFIXES = {".py", ".c", ".h", ".toml", ".md", ".json", ".js", ".css"}
#: Name of a replaced word -> what matches it.
WORDS = {
    "loop variable one": r"\bfor one in\b",
    "result variable found": r"\bfound = ",
    "known cause": r"\bknown cause",
    "foreign": r"foreign",
    "trial": r"(?i)trial",
    "lane": r"(?i)(?<!Freedman and )\blanes?\b",
    "the account": r"\bthe account\b",
    "Book, _Teller, Story, Farewell": r"\w*(Book|Teller|Story|Farewell)\b",
    "passed over": r"passed over|passed_over",
    "peeked": r"peeked",
    "at least": r"had at least",
    "is none that": r"is none that",
    "told, said, says": r"\b_?(told|said|says)\b",
    "take, of as functions": r"def (take|of|told|said|say)\(",
    "bury, hurry, farewell": r"(?i)\b_?(bury|hurry|farewell)\b",
    "urgent": r"\b(more|less) urgent",
    "letters": r"\bletters\b",
    "disturb": r"(?i)\bdisturb",
    "ordinary": r"\bordinary\b",
    "errs": r"err as seldom",
    "the one before": r"the one before",
    "beyond the ordinary": r"beyond the ordinary",
    "odd one": r"\bodd ones?\b",
}  # fmt: skip


def count_words(root: Path) -> dict[str, dict[str, int]]:
    """Return for each word how often each file of a checkout has it; {} where none has."""
    counts: dict[str, dict[str, int]] = {word: {} for word in WORDS}
    for path in _files(root):
        text = path.read_text(errors="replace")
        for word, pattern in WORDS.items():
            if number := len(re.findall(pattern, text)):
                counts[word][str(path.relative_to(root))] = number
    return counts


def _files(root: Path) -> Iterator[Path]:
    if (root / "README.md").is_file():
        yield root / "README.md"
    for place in PLACES:
        yield from sorted(
            path
            for path in (root / place).rglob("*")
            if path.suffix in SUFFIXES and path.is_file() and "node_modules" not in path.parts
        )


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    for word, files in count_words(directory).items():
        sys.stdout.write(f"{sum(files.values()):6} in {len(files):4} files  {word}\n")
