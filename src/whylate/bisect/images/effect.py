"""What a hybrid has in force on a board, by the facts of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from whylate.bisect.images.items import Item
from whylate.bisect.images.roots import Hybrid, Roots
from whylate.bisect.kinds import Kind
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.facts.cmdline import parameters
from whylate.boards.facts.reading import decode
from whylate.recording.manifest import Fact
from whylate.stats.arrays import Bools
from whylate.text import clean, plain

_IMAGE = re.compile(r"boot/vmlinu[xz]-([^/]+)")
_LINE = "boot/cmdline.txt"
_MOST = 16384


def items_in_force(roots: Roots, hybrid: Hybrid, chosen: Bools, facts: Iterable[Fact]) -> Bools:
    """Return the items that are as in the second root, shape (items,).

    Files are as they were written; the release and the command line are those that the board
    reports. A word that the hybrid has not, and the board has all the same, is in force. Raises
    NoOutcomeError for another kernel, or a word of the hybrid that is not in force.
    """
    values = {fact.name: fact.value for fact in facts}
    releases = [match[1] for path in hybrid.entries if (match := _IMAGE.fullmatch(path))]
    running = values.get("kernel_release")
    if len(releases) == 1 and running != releases[0]:
        raise NoOutcomeError(
            f"the board runs kernel {plain(str(running), 80)}, and the hybrid has {releases[0]}"
        )
    words = values.get("kernel_command_line")
    if _LINE not in hybrid.entries or not isinstance(words, list):
        return chosen
    line = clean(decode(roots.content(hybrid, _LINE)), _MOST)
    for word in parameters(line):
        if word not in words:
            raise NoOutcomeError(f"{plain(word, 80)} of the hybrid is not on the command line")
    in_force = chosen.copy()
    for place, item in enumerate(roots.items):
        lone = _word(item)
        if lone is not None and lone in words:
            # One side has it alone: here it is in force, whatever the hybrid has.
            in_force[place] = item.second is not None
    return in_force


def items_reported(items: Sequence[Item], taken: Bools, facts: Iterable[Fact]) -> Bools:
    """Return the items that are as in the second root where a command brought them, shape (items,).

    taken: by what the command printed. The board's own report overrules it: a word of the command
    line, and a kernel by its release, are in force where the board has them.
    """
    values = {fact.name: fact.value for fact in facts}
    words, release = values.get("kernel_command_line"), values.get("kernel_release")
    in_force = taken.copy()
    for place, item in enumerate(items):
        reported: bool | None = None
        if isinstance(words, list):
            reported = _side_of_word(item, words)
        if reported is None and isinstance(release, str):
            reported = _side_of_kernel(item, release)
        if reported is not None:
            in_force[place] = reported
    return in_force


def _side_of_word(item: Item, words: Sequence[str]) -> bool | None:
    """Return whether a word is as in the second root; None where the command line is as neither."""
    lone = _word(item)
    if lone is not None:
        return (lone in words) == (item.second is not None)
    if len(item.members) > 1 or item.members[0].kind is not Kind.ARGUMENT:
        return None
    has_first, has_second = item.first in words, item.second in words
    return has_second if has_first != has_second else None


def _side_of_kernel(item: Item, release: str) -> bool | None:
    """Return whether a kernel is that of the second root; None where its release does not tell."""
    kernels = [member for member in item.members if member.kind is Kind.KERNEL]
    if len(kernels) != 1:
        return None
    first, second = (
        (value or "").partition(", ")[0] for value in (kernels[0].first, kernels[0].second)
    )
    return second == release if first != second and release in (first, second) else None


def _word(item: Item) -> str | None:
    """Return the word that only one side has, of an item that is nothing else."""
    member = item.members[0]
    if len(item.members) > 1 or member.kind is not Kind.ARGUMENT:
        return None
    return next((v for v, other in ((member.first, member.second), (member.second, member.first))
                 if v is not None and other is None), None)  # fmt: skip
