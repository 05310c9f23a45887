"""What a hybrid has in force on a board, by the facts of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whylate.bisect.images.items import Item
from whylate.bisect.images.roots import Hybrid, Roots
from whylate.bisect.kinds import Kind
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.facts.cmdline import parameters
from whylate.boards.facts.reading import clean, decode
from whylate.recording.manifest import Fact
from whylate.stats.arrays import Bools
from whylate.text import plain

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


def _word(item: Item) -> str | None:
    """Return the word that only one side has, of an item that is nothing else."""
    member = item.members[0]
    if len(item.members) > 1 or member.kind is not Kind.ARGUMENT:
        return None
    return next((v for v, other in ((member.first, member.second), (member.second, member.first))
                 if v is not None and other is None), None)  # fmt: skip
