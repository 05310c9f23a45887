"""Which packages a root has, by its database, and which file is of which package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from whylate.bisect.sides.control import MAX_PACKAGES, exact_dependencies, read_paragraphs
from whylate.bisect.sides.tree import Tree

DPKG = "var/lib/dpkg"
OPKG = ("usr/lib/opkg", "var/lib/opkg")
RPM = ("var/lib/rpm", "usr/lib/sysimage/rpm", "usr/share/rpm")
#: Directories in which package managers keep their books: they follow from the packages.
BOOKS = (DPKG, *OPKG)


@dataclass(frozen=True)
class Packages:
    """Versions by package, and the package of each file.

    basis: the package manager. exact: pairs of which the first depends on exactly the second's
    version.
    """

    basis: str
    versions: Mapping[str, str]
    owners: Mapping[str, str] = field(default_factory=dict)
    exact: frozenset[tuple[str, str]] = frozenset()


def read_packages(tree: Tree) -> Packages | str:
    """Return a root's packages, or the reason why they are not known."""
    kept = tree.kept
    distroless = [path for path in kept if path.startswith(f"{DPKG}/status.d/")]
    if f"{DPKG}/status" in kept or distroless:
        texts = [kept[path] for path in (f"{DPKG}/status", *sorted(distroless)) if path in kept]
        versions, exact = parse_status(b"\n\n".join(texts))
        return Packages("dpkg", versions, _owners(tree, f"{DPKG}/info", versions), exact)
    for place in OPKG:
        if f"{place}/status" in kept:
            versions, exact = parse_status(kept[f"{place}/status"])
            return Packages("opkg", versions, _owners(tree, f"{place}/info", versions), exact)
    if any(path in tree.entries for path in RPM):
        return "its packages are rpm's, whose database is not read"
    if f"{DPKG}/status" in tree.entries:
        return f"{DPKG}/status is too large, or not readable"
    return "no database of dpkg or opkg"


def parse_status(data: bytes) -> tuple[dict[str, str], frozenset[tuple[str, str]]]:
    """Return the versions of what is installed, and pairs with exact dependencies.

    A package of several architectures has a name for each, as libc6:arm64.
    """
    rows: list[dict[str, str]] = []
    for fields in read_paragraphs(data.decode("utf-8", "replace")):
        state = fields.get("status", "install ok installed").split()
        if fields.get("package") and state[-1:] == ["installed"] and len(rows) < MAX_PACKAGES:
            rows.append(fields)
    counts: dict[str, int] = {}
    for fields in rows:
        counts[fields["package"]] = counts.get(fields["package"], 0) + 1
    versions: dict[str, str] = {}
    exact: set[tuple[str, str]] = set()
    for fields in rows:
        name, architecture = fields["package"], fields.get("architecture", "")
        several = counts[name] > 1
        called = f"{name}:{architecture}" if several else name
        version = fields.get("version", "?")
        versions[called] = f"{version} {architecture}".strip()
        exact |= {(called, other) for other in exact_dependencies(fields)}
    return versions, frozenset(exact)


def _owners(tree: Tree, info: str, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the package of each file, by the lists of files, or by the lists of checksums."""
    owners: dict[str, str] = {}
    prefix = f"{info}/"
    for suffix in (".list", ".md5sums"):
        for path in sorted(tree.kept):
            if not path.startswith(prefix) or not path.endswith(suffix):
                continue
            called = path[len(prefix) : -len(suffix)]
            package = called if called in versions else called.partition(":")[0]
            if package not in versions:
                continue
            for name in _names(tree.kept[path], suffix):
                owners.setdefault(tree.resolve(name), package)
    return owners


def _names(data: bytes, suffix: str) -> Iterator[str]:
    """Yield the names in a list, which are the root's: with or without a leading slash."""
    for line in data.split(b"\n"):
        # opkg writes a file's mode behind a tab; a checksum is 32 digits and two blanks.
        name = line[34:] if suffix == ".md5sums" else line.partition(b"\t")[0]
        text = name.decode("utf-8", "surrogateescape").strip("/")
        if text and text != ".":
            yield text
