"""Differences of two trees of files: packages, kernels, modules, files, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from whylate.bisect.differences.contents import Opened, open_contents
from whylate.bisect.differences.entries import compare_entries, describe, is_unknown
from whylate.bisect.differences.kernels import (
    RELEASE,
    Names,
    is_image,
    module_name,
    names_of,
    release_of,
)
from whylate.bisect.differences.model import Difference, Means, make_difference
from whylate.bisect.differences.values import compare_values
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.model import Items, Side
from whylate.bisect.sides.packages import BOOKS
from whylate.bisect.sides.tree import Entry, Tree


@dataclass
class TreeDifferences:
    """What differs between two trees.

    paths: the difference of each file, by its common name; packages: of each package. kernels: the
    ids of kernels by the names of their images. of_kernel: the kernel's id for each difference that
    belongs to one. unknown: how many contents are not known; books: files of package managers that
    were left out.
    """

    listed: list[Difference] = field(default_factory=list)
    paths: dict[str, Difference] = field(default_factory=dict)
    packages: dict[str, Difference] = field(default_factory=dict)
    kernels: dict[str, str] = field(default_factory=dict)
    of_kernel: dict[str, str] = field(default_factory=dict)
    unknown: int = 0
    books: int = 0


@dataclass(frozen=True)
class _Pair:
    """One name in both trees; None: a tree has nothing of that name."""

    name: str
    first: Entry | None
    second: Entry | None
    differing: Mapping[str, tuple[str, str]]

    @property
    def either(self) -> Entry:
        entry = self.first or self.second
        assert entry is not None  # noqa: S101 - a pair has one of them
        return entry


def compare_trees(first: Side, second: Side) -> TreeDifferences:
    """Return the differences of two sides that both have a tree; raises SideError."""
    assert first.tree is not None and second.tree is not None  # noqa: S101, PT018 - stated above
    names = names_of(first, second)
    result = TreeDifferences()
    _compare_packages(first, second, names, result)
    left_out = _left_out(first, second)
    pairs = list(_pairs(first.tree, second.tree, names, result, left_out))
    _name_kernels(first, second, pairs, result)
    owners = [
        {name.common(path): name.common(package) for path, package in side.owners.items()}
        for name, side in zip(names, (first, second), strict=True)
    ]
    directories: dict[str, str] = {}
    for pair in pairs:
        if pair.name in result.paths:
            continue
        difference = _file_difference(pair, names)
        package = _package(pair.name, owners, result)
        kernel = _kernel_of(pair.name, first, second, result)
        parent = package
        if parent is None:
            parent = _directory_above(pair.name, directories)
        if parent is None:
            parent = kernel
        difference = replace(difference, parent=parent)
        if (pair.first is None or pair.second is None) and pair.either.type == "directory":
            directories[pair.name] = difference.id
        if kernel is not None:
            result.of_kernel[difference.id] = kernel
            if package is not None:
                result.of_kernel[package] = kernel
        result.paths[pair.name] = difference
        result.listed.append(difference)
        if len(pair.differing) > 1:
            result.listed += _aspects(difference, pair)
    _place_kernel_packages(result)
    contents = [
        Opened(difference, names[0].real(name), names[1].real(name))
        for name, difference in result.paths.items()
        if difference.kind is Kind.FILE
        and difference.first is not None
        and difference.second is not None
    ]
    result.listed += open_contents(first, second, contents)
    return result


def _managers(first: Side, second: Side) -> set[str]:
    """Return the package manager that both sides have."""
    items = [side.items.get(Kind.PACKAGE) for side in (first, second)]
    bases = [item.basis for item in items if item is not None]
    return set(bases) if len(bases) == 2 and bases[0] == bases[1] else set()


def _left_out(first: Side, second: Side) -> tuple[str, ...]:
    """Return what names begin with for which other kinds stand: packages, options."""
    options = Kind.OPTION in first.items and Kind.OPTION in second.items
    books = tuple(f"{place}/" for place in BOOKS) if _managers(first, second) else ()
    return (*books, "boot/config-") if options else books


def _compare_packages(
    first: Side, second: Side, names: tuple[Names, Names], result: TreeDifferences
) -> None:
    """Compare versions; a package with the kernel's release in its name is one on both sides."""
    if not _managers(first, second):
        return
    renamed = []
    for side, name in zip((first, second), names, strict=True):
        items = side.items[Kind.PACKAGE]
        versions = {
            common: version if common == package else f"{package} {version}"
            for package, version in items.values.items()
            for common in [name.common(package)]
        }
        renamed.append(Items(versions, items.basis))
    for difference in compare_values(Kind.PACKAGE, *renamed):
        result.packages[difference.name] = difference
        result.listed.append(difference)


def _pairs(
    first: Tree,
    second: Tree,
    names: tuple[Names, Names],
    result: TreeDifferences,
    left_out: tuple[str, ...],
) -> Iterator[_Pair]:
    """Yield the names that differ, in order, without those that begin with `left_out`."""
    ours, theirs = names[0].entries(first.entries), names[1].entries(second.entries)
    for name in sorted(ours.keys() | theirs.keys()):
        entries = (
            first.entries[ours[name]] if name in ours else None,
            second.entries[theirs[name]] if name in theirs else None,
        )
        if is_unknown(*entries):
            result.unknown += 1
        differing: dict[str, tuple[str, str]] = {}
        if entries[0] is not None and entries[1] is not None:
            differing = compare_entries(entries[0], entries[1], names)
            if not differing:
                continue
        if name.startswith(left_out):
            result.books += name.startswith(BOOKS)
            continue
        yield _Pair(name, *entries, differing)


def _name_kernels(
    first: Side, second: Side, pairs: Iterable[_Pair], result: TreeDifferences
) -> None:
    """Make the differences of kernel images; of releases alone where no image is there."""
    releases = [" and ".join(side.releases) or None for side in (first, second)]
    images = [pair for pair in pairs if is_image(pair.name, pair.first or pair.second)]
    for pair in images:
        values = [
            None if entry is None else ", ".join(filter(None, (release, describe(entry))))
            for entry, release in zip((pair.first, pair.second), releases, strict=True)
        ]
        means = Means("kernel", pair.name)
        called = pair.name.removesuffix(f"-{RELEASE}")
        difference = make_difference(Kind.KERNEL, called, values[0], values[1], means)
        result.paths[pair.name] = difference
        result.listed.append(difference)
    if not images and releases[0] != releases[1] and None not in releases:
        means = Means("kernel", "kernel")
        difference = make_difference(Kind.KERNEL, "kernel", releases[0], releases[1], means)
        result.listed.append(difference)
    for difference in result.listed:
        if difference.kind is Kind.KERNEL:
            result.kernels[difference.means.target] = difference.id


def _kernel_of(name: str, first: Side, second: Side, result: TreeDifferences) -> str | None:
    """Return the id of the kernel that differs and that a file belongs to."""
    release = RELEASE if RELEASE in name else release_of(name)
    if release is None or not result.kernels:
        return None
    named = (identity for image, identity in result.kernels.items() if image.endswith(release))
    alone = len(first.releases) == len(second.releases) == len(result.kernels) == 1
    return next(named, next(iter(result.kernels.values())) if alone else None)


def _file_difference(pair: _Pair, names: tuple[Names, Names]) -> Difference:
    if pair.differing:
        values: list[str | None] = [
            "; ".join(value[side] for value in pair.differing.values()) for side in (0, 1)
        ]
    else:
        values = [None if entry is None else describe(entry) for entry in (pair.first, pair.second)]
    real = names[0].real(pair.name) if pair.first is not None else names[1].real(pair.name)
    module = module_name(real) if pair.either.type == "file" else None
    if module is not None:
        called, release = module
        called = called if RELEASE in pair.name else f"{called} of {release}"
        means = Means("module", pair.name)
        return make_difference(Kind.MODULE, called, values[0], values[1], means)
    return make_difference(Kind.FILE, pair.name, values[0], values[1], Means("file", pair.name))


def _aspects(difference: Difference, pair: _Pair) -> Iterator[Difference]:
    """Yield the parts of a difference of a file in more than one way."""
    for aspect, (ours, theirs) in pair.differing.items():
        name = f"{pair.name}: {aspect}"
        yield make_difference(
            Kind.FILE, name, ours, theirs, Means("file", pair.name), difference.id
        )


def _package(name: str, owners: list[dict[str, str]], result: TreeDifferences) -> str | None:
    """Return the id of the package's difference that a file's difference is a part of."""
    for packages in owners:
        package = packages.get(name)
        if package is not None and package in result.packages:
            return result.packages[package].id
    return None


def _directory_above(name: str, directories: dict[str, str]) -> str | None:
    """Return the id of the directory that one side lacks, and in which a name is."""
    parent = name.rpartition("/")[0]
    return directories.get(parent) if parent else None


def _place_kernel_packages(result: TreeDifferences) -> None:
    """Put the packages of a kernel's files below the kernel."""
    for position, difference in enumerate(result.listed):
        if difference.kind is Kind.PACKAGE and difference.id in result.of_kernel:
            kernel = result.of_kernel[difference.id]
            result.listed[position] = replace(difference, parent=kernel)
