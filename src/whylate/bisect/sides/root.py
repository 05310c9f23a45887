"""What the tree of a root file system offers besides its files."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from whylate.bisect.kinds import Kind
from whylate.bisect.sides.facts import OPTIONS, RELEASE, WORDS
from whylate.bisect.sides.model import Items, Side
from whylate.bisect.sides.options import parse_options
from whylate.bisect.sides.packages import read_packages
from whylate.bisect.sides.tree import Tree
from whylate.boards.facts.cmdline import parameters
from whylate.boards.facts.reading import decode
from whylate.text import clean

_MODULES = ("lib/modules", "usr/lib/modules")
_LINES = ("cmdline.txt", "boot/cmdline.txt", "boot/firmware/cmdline.txt")
_EXTLINUX = ("extlinux/extlinux.conf", "boot/extlinux/extlinux.conf")
#: The line of an extlinux.conf that has the command line.
APPEND = re.compile(r"^\s*append\s+(.+)$", re.MULTILINE | re.IGNORECASE)
_AT_RUN_TIME = (Kind.SETTING, Kind.AFFINITY, Kind.SERVICE, Kind.PRIORITY)
_MOST = 16384


def root_side(name: str, what: Literal["directory", "tarball", "image"], tree: Tree) -> Side:
    """Return what a root file system offers."""
    items: dict[Kind, Items] = {}
    article = "an" if what == "image" else "a"
    lacks = dict.fromkeys(_AT_RUN_TIME, f"{article} {what} has none: they exist at run time")
    lacks[Kind.DEVICE_TREE] = f"{article} {what} does not say which device tree the kernel is given"
    lacks[Kind.MODULE] = f"{article} {what} does not say which modules are loaded"
    releases = kernel_releases(tree)
    if len(releases) == 1:
        kernel = {"release": releases[0]}
        items[Kind.KERNEL] = Items(kernel, RELEASE, kernel.__contains__)
    else:
        lacks[Kind.KERNEL] = (
            f"it has the modules of {len(releases)} kernels, and does not say which is booted"
            if releases
            else "it has no lib/modules"
        )
    configurations = [path for path in tree.kept if path.startswith("boot/config-")]
    if len(configurations) == 1:
        items[Kind.OPTION] = Items(parse_options(tree.kept[configurations[0]]), OPTIONS)
    else:
        lacks[Kind.OPTION] = f"it has {len(configurations) or 'no'} files boot/config-*"
    words_from = next((path for path in (*_LINES, *_EXTLINUX) if path in tree.kept), None)
    words = None if words_from is None else _command_words(words_from, tree.kept[words_from])
    if words is not None:
        items[Kind.ARGUMENT] = Items(dict.fromkeys(words, ""), WORDS)
    else:
        lacks[Kind.ARGUMENT] = "no cmdline.txt and no extlinux.conf with one entry"
    side = Side(
        name,
        what,
        items,
        lacks,
        tree,
        releases=tuple(releases),
        words_from=words_from if words is not None else None,
        notes=_notes(tree),
    )
    packages = read_packages(tree)
    if isinstance(packages, str):
        lacks[Kind.PACKAGE] = packages
        return side
    items[Kind.PACKAGE] = Items(packages.versions, packages.basis)
    return replace(side, owners=packages.owners, exact=packages.exact)


def kernel_releases(tree: Tree) -> list[str]:
    """Return the releases of the kernels whose modules a root has."""
    releases = set()
    for path, entry in tree.entries.items():
        directory, _, release = path.rpartition("/")
        if entry.type == "directory" and directory in _MODULES:
            releases.add(release)
    return sorted(releases)


def _command_words(path: str, text: bytes) -> list[str] | None:
    """Return the words of the command line in a file; None: there is not exactly one."""
    line = decode(text)
    if path in _EXTLINUX:
        lines = APPEND.findall(line)
        if len(lines) != 1:
            return None
        line = lines[0]
    return parameters(clean(line, _MOST))


def _notes(tree: Tree) -> tuple[str, ...]:
    return tuple(
        f"{count:,} files or directories were not read ({reason}): their contents are not known"
        for reason, count in sorted(tree.unread.items())
    )
