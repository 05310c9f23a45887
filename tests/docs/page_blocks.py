"""The fenced code blocks of README and docs, and the commands in them.

A block that cannot be run by a test has a comment above it: `<!-- not run: the reason -->`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs" / "reference" / "generated"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if GENERATED not in path.parents),
]
SHELL = ("sh", "console")
_FENCE = re.compile(r"^( *)```([a-z]+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: ([^>]+) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block. not_run: why no test runs it, None where one does."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None

    @property
    def name(self) -> str:
        """Return page and line, for the name of a test."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def script(self) -> str:
        """Return the shell commands: of a console block what stands behind each `$ `."""
        if self.language == "sh":
            return self.text
        lines: list[str] = []
        goes_on = False
        for line in self.text.splitlines():
            if goes_on or line.startswith("$ "):
                lines.append(line.removeprefix("$ "))
                goes_on = line.endswith("\\")
        return "\n".join(lines) + "\n"

    def verbs(self) -> list[list[str]]:
        """Return the arguments of each whylate in the block."""
        commands: list[list[str]] = []
        for line in self.script.replace("\\\n", " ").splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            commands.append([])
            for word in words:
                if set(word) <= set(";|&()"):
                    commands.append([])
                else:
                    commands[-1].append(word)
        return [_cut_redirection(words[1:]) for words in commands if words[:1] == ["whylate"]]


def _cut_redirection(words: list[str]) -> list[str]:
    return words[: words.index(">")] if ">" in words else words


def read_blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text()
    blocks = []
    for match in _FENCE.finditer(text):
        above = _NOT_RUN.search(text[: match.start()])
        body = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(page, line, match[2], body, above[1] if above else None))
    return blocks


BLOCKS = [block for page in PAGES for block in read_blocks(page)]
SHELL_BLOCKS = [block for block in BLOCKS if block.language in SHELL]
