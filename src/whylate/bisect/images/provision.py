"""Hybrids of two roots on boards: as their image, or by a command of the user's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from whylate.bisect.images.apply import Command, boot_after
from whylate.bisect.images.effect import items_in_force, items_reported
from whylate.bisect.images.errors import HybridError
from whylate.bisect.images.items import labels_of, weights_of
from whylate.bisect.images.model import NOUNS, ImagesPlan
from whylate.bisect.images.roots import Roots
from whylate.bisect.images.store import Made, Store
from whylate.bisect.outcome import NoOutcomeError
from whylate.bisect.sets.model import Item, Sets
from whylate.bisect.sets.provision import Provisioned
from whylate.boards.ready import Boot
from whylate.recording.reader import open_recording
from whylate.run.knobs.apply import Applied
from whylate.run.knobs.host_files import IMAGE
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid, Problem


class ImageProvisioner:
    """Provisions boards with hybrids of two roots."""

    def __init__(self, plan: ImagesPlan, roots: Roots, store: Store) -> None:
        self._plan = plan
        self._roots = roots
        self._store = store
        self.sets = sets_of(plan, roots)
        self.problem = problem_of(plan, roots)
        # No knob differs between the sides.
        self.sides: Sequence[Applied] = ()

    def prepare(self, hybrids: Sequence[Hybrid]) -> None:
        """Make hybrids ahead."""
        self._store.prepare(hybrids)

    @contextmanager
    def provision(self, hybrid: Hybrid) -> Iterator[Provisioned]:
        """Yield a hybrid on the disk; raises NoOutcomeError for one that cannot be made."""
        try:
            with self._store.use(hybrid) as made:
                if not self._plan.apply:
                    applied = Applied(
                        self._plan.study.request, {IMAGE: str(made.path)}, image=str(made.path)
                    )
                    yield _WithImage(applied, self._roots, made, hybrid.in_force, made.sha256)
                    return
                command = Command(self._plan.apply, self._roots.items, made, hybrid)
                applied = Applied(self._plan.study.request)
                boot = boot_after(command)
                yield _WithImage(
                    applied, self._roots, made, hybrid.in_force, boot=boot, command=command
                )
        except HybridError as error:
            raise NoOutcomeError(str(error)) from None


@dataclass(frozen=True)
class _WithImage:
    """A hybrid that a board boots. command: what brings it there, None: the board takes it."""

    applied: Applied
    roots: Roots
    made: Made
    chosen: Bools
    sha256: str = ""
    boot: Boot | None = None
    command: Command | None = field(default=None)

    def in_force(self, directory: Path) -> Bools:
        """Return the items of the second root that are in force; raises NoOutcomeError."""
        manifest = open_recording(directory).manifest
        if self.command is not None:
            return items_reported(self.roots.items, self.command.in_force(), manifest.facts)
        return items_in_force(self.roots, self.made.hybrid, self.chosen, manifest.facts)


def sets_of(plan: ImagesPlan, roots: Roots) -> Sets:
    """Return the bisection as it is shown."""
    items = [
        Item(str(number), item.name, item.first, item.second)
        for number, item in enumerate(roots.items)
    ]
    return Sets(plan, tuple(items), NOUNS)


def problem_of(plan: ImagesPlan, roots: Roots) -> Problem:
    """Return what is to be searched: items in the hierarchy of packages, files and lines.

    Hybrids are built on either root where something stays with the base.
    """
    boards = len(plan.study.boards)
    return Problem(
        items=len(roots.items),
        seed=plan.study.seed,
        weight=weights_of(roots.items),
        groups=labels_of(roots.items),
        both_bases=roots.has_rest,
        margin=plan.margin,
        budget=plan.runs,
        boards=boards,
        width=max(2, boards),
    )
