"""Count the words that the glossary replaces, in a source tree.

By hand: python tests/house/words.py [DIRECTORY of a checkout].
"""

from __future__ import annotations

import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PLACES = ("src", "probe", "lab", "remedies", "schema", "docs")
SUFFIXES = {".py", ".pml", ".c", ".h", ".toml", ".md", ".json", ".js", ".css", ".j2"}
#: Name of a replaced word -> what matches it, in code and prose alike.
WORDS = {
    "known cause": r"\bknown cause",
    "foreign": r"(?i)\bforeign\b",
    "trial": r"(?i)trial",
    "lane": r"(?i)(?<!Freedman and )\blanes?\b",
    "the account": r"\bthe account\b",
    "passed over": r"passed over|passed_over",
    "peeked": r"peeked",
    "at least": r"had at least",
    "is none that": r"is none that",
    "bury, hurry, farewell": r"(?i)\b_?(bury|hurry|farewell)\b",
    "urgent": r"\b(more|less) urgent",
    "letters": r"\bletters\b",
    "disturb": r"(?i)\bdisturb",
    "ordinary": r"(?i)\bordinary\b",
    "errs": r"err as seldom",
    "the one before": r"the one before",
    "odd one": r"\bodd ones?\b",
    "told apart": r"told apart",
    "late ones": r"\blate ones\b",
}  # fmt: skip
#: The same for identifiers alone: in prose these are good English.
IDENTIFIERS = {
    "one, found": r"_?(one|found)",
    "told, said, says": r"_?(told|said|says)",
    "take, of as functions": r"(?<=def )_?(take|of)",
    "Book, _Teller, Story, Farewell": r"\w*(Book|Teller|Story|Farewell)",
}
#: What may stay, by file: the word belongs to another tool, or to files of an earlier schema.
MAY_STAY = {
    "src/whylate/recording/former_schema.py": {"trial", "passed over"},
    "src/whylate/run/knobs/apply.py": {"ordinary"},
}


def count_words(root: Path) -> dict[str, dict[str, int]]:
    """Return for each word how often each file of a checkout has it; {} where none has."""
    counts: dict[str, dict[str, int]] = {word: {} for word in (*WORDS, *IDENTIFIERS)}
    for path in _files(root):
        name = str(path.relative_to(root))
        text = path.read_text(errors="replace")
        texts = [(WORDS, text, "{}")]
        if path.suffix in (".py", ".c", ".h"):
            code = " ".join(_python_names(path) if path.suffix == ".py" else _c_names(text))
            texts.append((IDENTIFIERS, code, r"\b{}\b"))
        for words, where, frame in texts:
            for word, pattern in words.items():
                number = len(re.findall(frame.format(pattern), where))
                if number and word not in MAY_STAY.get(name, ()):
                    counts[word][name] = number
    return counts


def _python_names(path: Path) -> Iterator[str]:
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.NAME:
                yield token.string


def _c_names(text: str) -> list[str]:
    code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)
    return re.findall(r"\w+", code)


def _files(root: Path) -> Iterator[Path]:
    if (root / "README.md").is_file():
        yield root / "README.md"
    for place in PLACES:
        yield from sorted(
            path
            for path in (root / place).rglob("*")
            if path.suffix in SUFFIXES and path.is_file() and "generated" not in path.parts
        )


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    for word, files in count_words(directory).items():
        sys.stdout.write(f"{sum(files.values()):6} in {len(files):4} files  {word}\n")
        if "-v" in sys.argv:
            sys.stdout.writelines(f"         {number:4} {name}\n" for name, number in files.items())
