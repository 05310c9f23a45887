"""What a board boots: a kernel, what is loaded with it, and the words on its command line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from whylate.boards.facts.cmdline import split
from whylate.recording.boot_mark import MARK

#: Words that a boot loader adds by itself.
_OF_LOADER = ("BOOT_IMAGE", "initrd", MARK)


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A boot entry. Paths are those of its boot loader.

    more: other lines of extlinux.conf, as pairs of a keyword and a value (FDTDIR, FDTOVERLAYS).
    """

    kernel: str
    initrd: str = ""
    dtb: str = ""
    words: list[str] = []
    more: list[tuple[str, str]] = []

    @property
    def line(self) -> str:
        """The kernel's command line."""
        return " ".join(self.words)

    @property
    def mark(self) -> str:
        """The word that identifies it; "" if it has none."""
        return next((word for word in self.words if word.startswith(f"{MARK}=")), "")


def with_knobs(
    own: Entry, *, add: Sequence[str], left_out: Sequence[str], files: dict[str, str]
) -> Entry:
    """Return the board's own entry with words added and left out, and with other files.

    files: the paths of a kernel, an initrd and a dtb, as the boot loader has them. Of two words
    with the same name the kernel uses the last, so added words come last.
    """
    names = {_name(name) for name in left_out}
    words = [word for word in without_loaders(own.words) if _name(word) not in names]
    changed = msgspec.structs.replace(own, words=[*words, *add], **files)
    if "dtb" in files:
        more = [pair for pair in own.more if pair[0].upper() != "FDTDIR"]
        changed = msgspec.structs.replace(changed, more=more)
    return changed


def with_mark(entry: Entry, contents: Sequence[str]) -> Entry:
    """Return the entry with its mark; contents: hashes of the files that it loads."""
    text = "\0".join([entry.kernel, entry.initrd, entry.dtb, *entry.words, *contents])
    mark = hashlib.sha256(text.encode()).hexdigest()[:12]
    return msgspec.structs.replace(entry, words=[*entry.words, f"{MARK}={mark}"])


def without_loaders(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without those that a boot loader adds."""
    return [word for word in words if _name(word) not in {_name(name) for name in _OF_LOADER}]


def words_of(line: str) -> list[str]:
    """Return the words of a command line; a quoted blank divides none."""
    return split(line)


def _name(word: str) -> str:
    return word.strip('"').partition("=")[0].replace("-", "_")
