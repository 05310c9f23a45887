"""From a name to a board on a labgrid bench."""

from __future__ import annotations

import os
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard, Source
from whylate.boards.labgrid.coordinator import coordinator_address
from whylate.boards.labgrid.environment import EnvironmentSource, environment_file, list_targets
from whylate.boards.labgrid.places import PlaceSource, list_places


def labgrid_board(
    name: str,
    environment: Path | None = None,
    coordinator: str | None = None,
    options: BenchOptions | None = None,
) -> LabgridBoard:
    """Return a target of the environment file, else a place of the coordinator; raises BoardError.

    environment: None means LG_ENV, coordinator: None means LG_COORDINATOR. A target of the file
    precedes a place of the same name. Only the file is read yet.
    """
    path = environment_file(environment)
    source: Source | None = None
    names: list[str] = []
    if path is not None:
        names = [target.name for target in list_targets(path)]
        if name in names:
            source = EnvironmentSource(path, name)
    if source is None and (coordinator or os.environ.get("LG_COORDINATOR")):
        source = PlaceSource(coordinator or coordinator_address(), name)
    if source is None:
        if path is None:
            raise BoardError(
                f"unknown board {name[:80]!r}: for a board on a labgrid bench name its environment "
                "file (--env or LG_ENV) or its coordinator (LG_COORDINATOR)"
            )
        raise BoardError(f"{path} has no target {name[:80]!r}: it has {', '.join(names) or 'none'}")
    return LabgridBoard(name, source, options)


def bench_names(environment: Path | None = None) -> list[str]:
    """Return the names of all targets and places; raises BoardError."""
    names = [target.name for target in list_targets(environment)]
    if os.environ.get("LG_COORDINATOR"):
        names += [place.name for place in list_places()]
    return list(dict.fromkeys(names))
