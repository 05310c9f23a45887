"""Kernels: which files are a kernel's, and the names of files that have its release in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whylate.bisect.sides.model import Side
from whylate.bisect.sides.tree import Entry

#: Stands for the release of a side's only kernel.
RELEASE = "{release}"
_IMAGE = re.compile(
    r"(?:boot/)?(?:firmware/|efi/)?"
    r"(?:vmlinu[xz]|[zub]?zImage|[uz]?Image|fitImage|kernel[0-9a-z_]*\.img)(?:-[^/]*)?(?:\.gz)?"
)
_MODULE = re.compile(r"(?:usr/)?lib/modules/([^/]+)/(?:.*/)?([^/]+)\.ko(?:\.(?:xz|gz|zst))?")
_OF_RELEASE = re.compile(
    r"(?:(?:usr/)?lib/modules/|boot/(?:config|System\.map|initrd\.img)-)([^/]+)"
)
_PACKED = re.compile(r"(\.ko)\.(?:xz|gz|zst)$")


def is_image(path: str, entry: Entry | None) -> bool:
    """Whether a file is a kernel's image, by its name."""
    return entry is not None and entry.type == "file" and _IMAGE.fullmatch(path) is not None


def module_name(path: str) -> tuple[str, str] | None:
    """Return the module in a file and the release it is for; None: it is no module."""
    match = _MODULE.fullmatch(path)
    return None if match is None else (match[2].replace("-", "_"), match[1])


def release_of(path: str) -> str | None:
    """Return the release of the kernel that a file belongs to."""
    match = _OF_RELEASE.match(path)
    return None if match is None else match[1]


@dataclass(frozen=True)
class Names:
    """Names of files and packages without the release of the kernel, so that two sides agree.

    release: of the only kernel; None: names are left as they are.
    """

    release: str | None

    def common(self, text: str) -> str:
        """Return a name with {release} for the kernel's release; a packed module as an unpacked."""
        if ".ko." in text and _MODULE.fullmatch(text):
            text = _PACKED.sub(r"\1", text)
        if self.release is None or self.release not in text:
            return text
        bounded = rf"(?<![0-9A-Za-z.]){re.escape(self.release)}(?![0-9A-Za-z])"
        return re.sub(bounded, RELEASE, text)

    def real(self, text: str) -> str:
        """Return a name with the release in it again."""
        return text if self.release is None else text.replace(RELEASE, self.release)

    def entries(self, entries: Mapping[str, Entry]) -> dict[str, str]:
        """Return the name in a tree for each common name."""
        names: dict[str, str] = {}
        for path in entries:
            names.setdefault(self.common(path), path)
        return names


def names_of(first: Side, second: Side) -> tuple[Names, Names]:
    """Return the names of both sides; they have the release where each has one kernel."""
    sides: Sequence[Side] = (first, second)
    if all(len(side.releases) == 1 for side in sides) and first.releases != second.releases:
        return Names(first.releases[0]), Names(second.releases[0])
    return Names(None), Names(None)
