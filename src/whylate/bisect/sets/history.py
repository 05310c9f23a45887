"""Items and runs, as the search has them and as the journal does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.recording.errors import RecordingError
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid, Purpose, Run


def chosen_keys(sets: Sets, in_force: Bools) -> list[str]:
    """Return the items that are as on the second side; in_force: shape (items,).

    Keys that are numbers are written as ranges: 3-9.
    """
    keys = [item.key for item in sets.items]
    if not _are_numbers(keys):
        return [key for key, chosen in zip(keys, in_force, strict=True) if chosen]
    edges = np.flatnonzero(np.diff(np.r_[0, in_force.astype(np.int8), 0]))
    ranges = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in ranges]


def chosen_items(sets: Sets, keys: Sequence[str]) -> Bools:
    """Return which items are among these keys, shape (items,); raises RecordingError."""
    places = {item.key: place for place, item in enumerate(sets.items)}
    chosen = np.zeros(len(sets.items), bool)
    is_numbered = _are_numbers(list(places))
    for key in keys:
        first, dash, last = key.partition("-") if is_numbered else (key, "", "")
        start, end = places.get(first), places.get(last if dash else first)
        if start is None or end is None:
            raise RecordingError(f"a run has a difference {key[:60]!r} that the plan has not")
        chosen[start : end + 1] = True
    return chosen


def _are_numbers(keys: Sequence[str]) -> bool:
    return bool(keys) and keys[-1] == str(len(keys) - 1)


def history_of(sets: Sets, runs: Sequence[MadeRun]) -> list[Run]:
    """Return runs as the search takes them, in their order; raises RecordingError."""
    boards = {name: number for number, name in enumerate(sets.plan.study.boards)}
    return [_run(sets, made, boards.get(made.board, 0)) for made in runs]


def _run(sets: Sets, made: MadeRun, board: int) -> Run:
    planned = Hybrid(
        in_force=chosen_items(sets, made.planned),
        fast_base=made.base == "second",
        board=board,
        purpose=Purpose(made.purpose),
        target=tuple(made.target),
        opened=tuple(made.opened),
    )
    return Run(planned, chosen_items(sets, made.in_force), made.value, board)
