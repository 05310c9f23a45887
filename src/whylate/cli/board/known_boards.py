"""All boards that are known here, and who has those of a labgrid bench."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.boards.notes import state_name_of
from whylate.boards.qemu.board import QemuBoard
from whylate.boards.state import state_directory
from whylate.lab.description import names, virtual_board
from whylate.lab.image import is_fetched
from whylate.watch.boards import MOST_BOARDS, Place, used_places


@dataclass(frozen=True)
class Known:
    """A board. owner: who has it, where a coordinator says so. kernel: of a virtual board."""

    place: Place
    owner: str | None = None
    kernel: str = ""


@dataclass(frozen=True)
class KnownBoards:
    """Boards by their names, and why some could not be listed.

    left_out: boards that were used here and are not among them, because there are too many.
    """

    boards: list[Known]
    problems: list[str]
    left_out: int = 0


def known_boards(environment: Path | None) -> KnownBoards:
    """Return this machine, virtual boards, those of a bench, and those that were used here."""
    known = [Known(_place("local")), *_virtual()]
    problems = []
    for listing in (_targets, _places):
        try:
            known += listing(environment)
        except BoardError as error:
            problems.append(str(error))
    there = {board.place.directory for board in known}
    used = [Known(place) for place in used_places() if place.directory not in there]
    known += used[:MOST_BOARDS]
    return KnownBoards(known, problems, max(0, len(used) - MOST_BOARDS))


def _place(name: str, state_name: str | None = None) -> Place:
    return Place(name, state_directory(state_name or state_name_of(name)))


def _virtual() -> Iterator[Known]:
    for name in names():
        described = virtual_board(name)
        if is_fetched(described):
            try:
                kernel = QemuBoard(described).release
            except BoardError as error:
                kernel = str(error)
            yield Known(_place(name), kernel=kernel)


def _targets(environment: Path | None) -> list[Known]:
    """Return the targets of a labgrid environment; imports nothing of labgrid without one."""
    if environment is None and not os.environ.get("LG_ENV"):
        return []
    from whylate.boards.labgrid.environment import environment_file, list_targets, state_name

    path = environment_file(environment)
    if path is None:
        return []
    return [
        Known(_place(target.name, state_name(path, target.name)), target.owner)
        for target in list_targets(path)
    ]


def _places(environment: Path | None) -> list[Known]:
    """Return the places of a labgrid coordinator."""
    del environment
    if not os.environ.get("LG_COORDINATOR"):
        return []
    from whylate.boards.labgrid.coordinator import coordinator_address
    from whylate.boards.labgrid.environment import state_name_of_place
    from whylate.boards.labgrid.places import list_places

    address = coordinator_address()
    return [
        Known(_place(place.name, state_name_of_place(address, place.name)), place.owner)
        for place in list_places(address)
    ]
