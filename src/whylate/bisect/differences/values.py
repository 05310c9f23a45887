"""Differences of named values: settings, options, packages, words of a command line."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.bisect.differences.model import Difference, Means, Method, make_difference
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.model import Items

_METHODS: dict[Kind, Method] = {
    Kind.KERNEL: "kernel",
    Kind.OPTION: "kernel",
    Kind.ARGUMENT: "kernel argument",
    Kind.DEVICE_TREE: "device tree",
    Kind.MODULE: "module",
    Kind.PACKAGE: "package",
    Kind.SETTING: "setting",
    Kind.AFFINITY: "affinity",
    Kind.SERVICE: "service",
    Kind.PRIORITY: "priority",
}
#: The name of a difference of the order of words.
ORDER = "the order of the words"


def compare_values(kind: Kind, first: Items, second: Items) -> list[Difference]:
    """Return the names whose values differ, in order; the bases are the same.

    A name that one side lacks differs, unless that side would not list it anyway.
    """
    if kind is Kind.ARGUMENT:
        return list(_compare_words(first, second))
    differences = []
    for name in sorted(first.values.keys() | second.values.keys()):
        ours, theirs = first.values.get(name), second.values.get(name)
        unknown = (ours is None and not _knows(first, name)) or (
            theirs is None and not _knows(second, name)
        )
        if ours != theirs and not unknown:
            file = first.files.get(name)
            target = file if file is not None and file == second.files.get(name) else name
            means = Means(_METHODS[kind], target)
            differences.append(make_difference(kind, name, ours, theirs, means))
    return differences


def _knows(side: Items, name: str) -> bool:
    return side.known is None or side.known(name)


def _compare_words(first: Items, second: Items) -> Iterator[Difference]:
    """Yield the words that only one command line has; those of one name are one difference.

    The target is the name, or all words of the name where a command line has several.
    """
    ours = [word for word in first.values if word not in second.values]
    theirs = [word for word in second.values if word not in first.values]
    common = [word for word in first.values if word in second.values]
    names = {_key(word) for word in (*ours, *theirs)}
    for name in sorted(names):
        both = [[word for word in words if _key(word) == name] for words in (ours, theirs)]
        shared = [word for word in common if _key(word) == name]
        several = any(len(words) + len(shared) > 1 for words in both)
        target = " ".join([*shared, *both[0], *both[1]]) if several else name
        if len(both[0]) <= 1 and len(both[1]) <= 1:
            values = [words[0] if words else None for words in both]
            yield _word(name, values[0], values[1], target)
            continue
        for word in sorted(both[0]):
            yield _word(word, word, None, target)
        for word in sorted(both[1]):
            yield _word(word, None, word, target)
    if common != [word for word in second.values if word in first.values]:
        yield _word(ORDER, " ".join(first.values), " ".join(second.values), ORDER)


def _word(name: str, first: str | None, second: str | None, target: str) -> Difference:
    return make_difference(Kind.ARGUMENT, name, first, second, Means("kernel argument", target))


def _key(word: str) -> str:
    # The kernel treats - and _ in a name alike.
    return word.partition("=")[0].replace("-", "_")
