"""Two roots of a few files, for tests of hybrids."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.find import find_differences
from whylate.bisect.images.pool import Pool
from whylate.bisect.images.roots import Roots
from whylate.bisect.sides.read import read_side
from whylate.stats.arrays import Bools

Member = tuple[str, int, str | bytes, int]


def write_members(path: Path, members: dict[str, tuple[str, int, str | bytes]]) -> Path:
    """Write a tar: name -> type ("file", "directory", "link"), mode, and content or target."""
    with tarfile.open(path, "w") as archive:
        for name, (kind, mode, content) in members.items():
            member = tarfile.TarInfo(name)
            member.mode = mode
            if kind == "directory":
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif kind == "link":
                member.type = tarfile.SYMTYPE
                assert isinstance(content, str)
                member.linkname = content
                archive.addfile(member)
            else:
                data = content.encode() if isinstance(content, str) else content
                member.size = len(data)
                import io

                archive.addfile(member, io.BytesIO(data))
    return path


@contextmanager
def roots_of(
    first: Path, second: Path, directory: Path, choice: Choice | None = None
) -> Iterator[Roots]:
    sides = [read_side(str(path), lambda _: None) for path in (first, second)]
    chosen = choice or Choice()
    differences = find_differences(sides[0], sides[1], chosen)
    with Pool(directory / "pool") as pool:
        yield Roots(sides[0], sides[1], differences, chosen.pin, pool)


def members_of(path: Path) -> dict[str, tuple[object, ...]]:
    """Return what a tar holds, but for times and the modes of links."""
    held: dict[str, tuple[object, ...]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            held[member.name] = (
                member.type,
                None if member.issym() else member.mode,
                member.uid,
                member.gid,
                member.linkname,
                None if content is None else content.read(),
            )
    return held


def hybrid_of(roots: Roots, chosen: Sequence[bool] | Bools, path: Path, *, base: bool) -> bytes:
    """Return the tar of a hybrid."""
    roots.write(path, roots.hybrid(np.array(chosen, bool), base))
    return path.read_bytes()


def item_named(roots: Roots, name: str) -> int:
    """Return the place of an item with a difference of this name."""
    return next(
        place
        for place, item in enumerate(roots.items)
        if any(member.name == name for member in item.members)
    )
