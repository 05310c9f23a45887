"""Finds in what two sides differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whylate.bisect.differences.atoms import Groups, join_tree_atoms
from whylate.bisect.differences.choose import Choice, choose
from whylate.bisect.differences.model import (
    Difference,
    Differences,
    Means,
    NotCompared,
    make_difference,
)
from whylate.bisect.differences.order import in_order
from whylate.bisect.differences.trees import TreeDifferences, compare_trees
from whylate.bisect.differences.values import compare_values
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.model import Items, Side

#: Kinds that trees show by their files, and better than by names.
_BY_FILES = frozenset({Kind.KERNEL, Kind.MODULE, Kind.DEVICE_TREE, Kind.FILE, Kind.LINE})
_MOST_MACHINE = 6


def find_differences(first: Side, second: Side, choice: Choice | None = None) -> Differences:
    """Return the differences of two sides; raises SideError.

    The same sides give the same differences in the same order, with the same ids.
    """
    choice = choice or Choice()
    groups = Groups()
    trees: TreeDifferences | None = None
    listed: list[Difference] = []
    if first.tree is not None and second.tree is not None:
        trees = compare_trees(first, second)
        listed += trees.listed
        join_tree_atoms(first, second, trees, groups)
    not_compared: list[NotCompared] = []
    for kind in Kind:
        if trees is not None and (kind in _BY_FILES or (kind is Kind.PACKAGE and trees.packages)):
            continue
        reason = why_not(kind, first, second)
        if reason is not None:
            not_compared.append(NotCompared(kind, reason))
        elif not _has_words_in_file(kind, first, second):
            listed += _values(kind, first, second)
    listed = list(_below_kernel(listed, groups))
    ordered = in_order(_distinct(listed))
    chosen = choose(ordered, choice, groups)
    return Differences(
        first.name,
        second.name,
        tuple(chosen),
        tuple(not_compared),
        tuple(_notes(first, second, trees)),
        len(ordered) - len(chosen),
    )


def why_not(kind: Kind, first: Side, second: Side) -> str | None:
    """Return why a kind cannot be compared; None if it can."""
    reasons: dict[str, list[str]] = {}
    for side in (first, second):
        if kind not in side.items and (side.tree is None or kind not in (Kind.FILE, Kind.LINE)):
            reason = side.lacks.get(kind, "it shows none")
            reasons.setdefault(reason, []).append(side.name)
    if reasons:
        return "; ".join(f"{' and '.join(names)}: {text}" for text, names in reasons.items())
    ours, theirs = first.items.get(kind), second.items.get(kind)
    if ours is not None and theirs is not None and ours.basis != theirs.basis:
        return f"{first.name} shows {ours.basis}, {second.name} {theirs.basis}"
    return None


def _values(kind: Kind, first: Side, second: Side) -> list[Difference]:
    ours, theirs = first.items[kind], second.items[kind]
    if kind is Kind.KERNEL:
        return list(_kernel(ours, theirs))
    return compare_values(kind, ours, theirs)


def _kernel(first: Items, second: Items) -> Iterator[Difference]:
    """Yield the difference of two kernels that are known by release and build."""
    names = [name for name in first.values if name in second.values]
    values = [", ".join(side.values[name] for name in names) for side in (first, second)]
    if values[0] != values[1]:
        means = Means("kernel", "kernel")
        yield make_difference(Kind.KERNEL, "kernel", values[0], values[1], means)


def _has_words_in_file(kind: Kind, first: Side, second: Side) -> bool:
    """Whether the words of both command lines are in a file of one name, which is opened."""
    return (
        kind is Kind.ARGUMENT
        and first.words_from is not None
        and first.words_from == second.words_from
    )


def _below_kernel(listed: list[Difference], groups: Groups) -> Iterator[Difference]:
    """Yield differences; what comes with a kernel is below it, if that is the only one.

    That is its configuration, and the settings and threads that only one of two kernels has.
    """
    kernels = [difference.id for difference in listed if difference.kind is Kind.KERNEL]
    for difference in listed:
        one_sided = difference.first is None or difference.second is None
        comes_along = difference.kind is Kind.OPTION or (
            difference.kind in (Kind.SETTING, Kind.PRIORITY) and one_sided
        )
        if not comes_along or len(kernels) != 1:
            yield difference
            continue
        groups.join(difference.id, kernels[0])
        means = Means("with parent", difference.means.target)
        yield replace(difference, parent=kernels[0], means=means)


def _distinct(listed: list[Difference]) -> Iterator[Difference]:
    """Yield differences with ids that occur once, such as of modules of one name in two folders."""
    counts: dict[str, int] = {}
    for difference in listed:
        counts[difference.id] = number = counts.get(difference.id, 0) + 1
        yield difference if number == 1 else replace(difference, id=f"{difference.id}-{number}")


def _notes(first: Side, second: Side, trees: TreeDifferences | None) -> Iterator[str]:
    for side in (first, second):
        yield from (f"{side.name}: {note}" for note in side.notes)
    if trees is not None and trees.unknown:
        yield (
            f"the contents of {trees.unknown:,} files of the same size are not known: they were "
            "not read"
        )
    if trees is not None and trees.books:
        yield f"{trees.books:,} files of the package manager differ: its packages stand for them"
    names = sorted(first.machine.keys() & second.machine.keys())
    machine = [name for name in names if first.machine[name] != second.machine[name]]
    if machine:
        more = f" and {len(machine) - _MOST_MACHINE} more" if len(machine) > _MOST_MACHINE else ""
        yield (
            "the machines differ too, which nothing listed here changes: "
            f"{', '.join(machine[:_MOST_MACHINE])}{more}"
        )
