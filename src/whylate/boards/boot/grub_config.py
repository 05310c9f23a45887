"""grub.cfg: the entry that a board boots, and another one made of it.

Format: GRUB's manual, chapter 6 (2.06). What grub-mkconfig writes is read: `menuentry` blocks with
`linux` and `initrd` lines; the other lines of a block, which find its disk, are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from whylate.boards.boot.entry import Entry, words_of

LABEL = "whylate"
_BEGIN = re.compile(r"\s*menuentry\s.*\{\s*$")
_LINUX = re.compile(r"\s*linux(?:16|efi)?\s+(\S+)\s*(.*)$")
_INITRD = re.compile(r"\s*initrd(?:16|efi)?\s+(.*)$")
_DTB = re.compile(r"\s*devicetree\s+(\S+)")
_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./~-]+")


def block_of(text: str, kernel: str) -> list[str] | None:
    """Return the lines inside the entry that boots this kernel, else inside the first."""
    blocks = _blocks(text)
    same = [lines for lines in blocks if (entry := entry_of(lines)) and entry.kernel == kernel]
    return next(iter([*same, *blocks]), None)


def entry_of(lines: Sequence[str]) -> Entry | None:
    """Return what the lines of an entry boot; None if that is no Linux."""
    linux = next(filter(None, map(_LINUX.match, lines)), None)
    if linux is None:
        return None
    initrd = next(filter(None, map(_INITRD.match, lines)), None)
    dtb = next(filter(None, map(_DTB.match, lines)), None)
    return Entry(
        kernel=linux[1],
        initrd=initrd[1].strip() if initrd else "",
        dtb=dtb[1] if dtb else "",
        words=words_of(linux[2].strip()),
    )


def entry_text(lines: Sequence[str], entry: Entry) -> str:
    """Return a `menuentry` with the lines of the board's own, which boots another entry."""
    kept = [line for line in lines if not (_LINUX.match(line) or _INITRD.match(line))]
    kept = [line for line in kept if not _DTB.match(line) and not line.strip().startswith("echo")]
    loads = [f"linux {quoted(entry.kernel)} {' '.join(map(quoted, entry.words))}"]
    if entry.initrd:
        loads.append(f"initrd {' '.join(map(quoted, entry.initrd.split()))}")
    if entry.dtb:
        loads.append(f"devicetree {quoted(entry.dtb)}")
    body = "\n".join([*kept, *(f"\t{line}" for line in loads)])
    return f"menuentry '{LABEL}' --id {LABEL} {{\n{body}\n}}\n"


def quoted(word: str) -> str:
    """Return a word as GRUB's script reads it (Quoting, section 6.1.2)."""
    if _SAFE.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _blocks(text: str) -> list[list[str]]:
    """Return the lines inside each `menuentry`, also of those in a submenu."""
    blocks: list[list[str]] = []
    lines: list[str] | None = None
    depth = 0
    for line in text.splitlines():
        if lines is None:
            if _BEGIN.match(line):
                lines, depth = [], 1
            continue
        stripped = line.strip()
        depth += stripped.endswith("{")
        depth -= stripped == "}"
        if depth == 0:
            blocks.append(lines)
            lines = None
        else:
            lines.append(line)
    return [block for block in blocks if entry_of(block) is not None]
