"""Files of a build that go to the board: which, and what a run is prepared with."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from whylate.bisect.commits.model import CommitsPlan
from whylate.bisect.ordered.versions import UnavailableError
from whylate.boards.board import ImageFile
from whylate.files import read_bounded
from whylate.run.errors import RequestError
from whylate.run.preparation.model import MAX_FILE, Preparation, check_paths
from whylate.text import plain


def check_put(texts: Sequence[str]) -> list[str]:
    """Return "FILE:PATH" as it is; raises RequestError for any other text."""
    for text in texts:
        name, colon, _ = text.partition(":")
        inside = Path(name)
        if not colon or not name or inside.is_absolute() or ".." in inside.parts:
            raise RequestError(
                f"--put {plain(text, 80)!r}: write FILE:PATH, a file of a build and its path on "
                "the board: work:/usr/bin/work"
            )
    check_paths([text.partition(":")[2] for text in texts])
    return list(texts)


def put_names(plan: CommitsPlan) -> list[str]:
    """Return the files of a build that go to the board."""
    return [text.partition(":")[0] for text in plan.put]


def preparation(plan: CommitsPlan, tree: Path) -> Preparation:
    """Return what the board gets for a run of a build, whose work tree this is.

    Raises UnavailableError for a file that the build did not make.
    """
    return Preparation(
        tuple(_file(tree, text) for text in plan.put),
        tuple(map(tuple, plan.before)),
        tuple(map(tuple, plan.after)),
    )


def _file(tree: Path, text: str) -> ImageFile:
    name, _, path = text.partition(":")
    made = tree / name
    try:
        data, mode = read_bounded(made, MAX_FILE), stat.S_IMODE(made.stat().st_mode)
    except OSError as error:
        reason = f"the build made no {plain(name, 100)} that can be put on the board"
        raise UnavailableError(f"{reason}: {error.strerror}") from None
    return path, data, mode & 0o777
