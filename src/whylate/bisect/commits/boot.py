"""What boards boot of a build: its kernel, initrd, device tree or image, and a command line.

The table [commits.boot] of a plan has these knobs, with {build} for the work tree of a commit. A
build is a stranger's: its files must be regular ones inside its tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from whylate.bisect.ordered.value import value_of_run
from whylate.bisect.ordered.versions import LostBoardError, UnavailableError
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.errors import BoardError
from whylate.boards.ready import ready
from whylate.files import sha256_of_named
from whylate.lab.errors import LabError
from whylate.recording.errors import DiskError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.run.knobs.commands import KnobError
from whylate.run.knobs.host_files import BOOT_FILES, IMAGE, file_for, host_files, needs_boot
from whylate.run.preparation.model import Preparation, PreparationError
from whylate.run.progress import Observer
from whylate.run.several import carry_out
from whylate.study.attempt import Attempts, Open
from whylate.study.check import check_knobs
from whylate.study.model import PlannedRun, StudyPlan, Variant
from whylate.study.plan_file import knob_texts, plan_of_variants, read_plan_file
from whylate.text import plain

#: The table of the plan, as messages name it.
TABLE = "[commits.boot]"
BUILD = "{build}"
_FILE_KNOBS = (*BOOT_FILES, IMAGE)
_INSIDE = re.compile(r"\{build\}/[^{}]*(\{board\}[^{}]*)*")


def read_boot(path: Path) -> dict[str, str]:
    """Return the knobs of [commits.boot] as they are written; raises RequestError.

    {} where the plan has none: then boards boot what they have.
    """
    keys = read_plan_file(path).commits
    knobs = knob_texts(keys.boot) if keys is not None else {}
    for name, value in knobs.items():
        if name not in _FILE_KNOBS and not needs_boot([name]):
            raise RequestError(
                f"{path}: {TABLE} has no knob {plain(name, 60)!r}: there are "
                f"{', '.join(_FILE_KNOBS)} and cmdline:WORD"
            )
        if BUILD not in value:
            continue
        parts = Path(value).parts
        if name not in _FILE_KNOBS or not _INSIDE.fullmatch(value) or ".." in parts:
            raise RequestError(
                f"{path}: {name} in {TABLE}: write a file of a build as {BUILD}/FILE, not "
                f"{plain(value, 80)!r}"
            )
    return knobs


def names_in(knobs: Mapping[str, str], boards: Sequence[str]) -> list[str]:
    """Return the files of a build that boards boot, by their paths below its tree."""
    files = [value for value in knobs.values() if value.startswith(f"{BUILD}/")]
    names = (file_for(board, value) for value in files for board in boards)
    return list(dict.fromkeys(name.removeprefix(f"{BUILD}/") for name in names))


def check_files(tree: Path, names: Sequence[str]) -> None:
    """Raise UnavailableError for a name that is no regular file inside the tree of a build."""
    for name in names:
        what = f"the build made no {plain(name, 100)} that can be booted"
        try:
            real = (tree / name).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            # RuntimeError: links that lead to each other.
            reason = getattr(error, "strerror", None) or "its links lead nowhere"
            raise UnavailableError(f"{what}: {reason}") from None
        if not real.is_relative_to(tree.resolve()):
            raise UnavailableError(f"{what}: it is a link that leads out of the build")
        if not real.is_file():
            raise UnavailableError(f"{what}: it is no regular file")


class BuildBoots:
    """Runs builds on boards that boot them, and leaves the boards as they were.

    good: the tree of GOOD, whose image a card is left with. knobs: as of read_boot(). Raises
    RequestError for knobs that the boards of the plan cannot have.
    """

    def __init__(
        self,
        path: Path,
        knobs: Mapping[str, str],
        good: Path,
        directory: Path,
        open_board: Open,
        stopped: Callable[[], bool],
    ) -> None:
        self._knobs = dict(knobs)
        self._good = good
        self._stopped = stopped
        self._study = _study(path, self._filled(good))
        self.names = names_in(knobs, self._study.boards)
        self._attempts = Attempts(directory, self._study, open_board, stopped)

    def bring(self, tree: Path) -> None:
        """Check and hash the files that a build has for boards; raises UnavailableError."""
        check_files(tree, self.names)
        try:
            self._know(tree)
        except OSError as error:
            raise UnavailableError(f"{error.filename}: {error.strerror}") from None

    def attempt(
        self,
        tree: Path,
        plan: RunPlan,
        board: str,
        directory: Path,
        observer: Observer,
        preparation: Preparation,
        statistic: str,
    ) -> tuple[float, str]:
        """Boot a build, make a run and return its value and unit.

        Raises NoOutcomeError for a build that does not boot, or where another was booted,
        LostBoardError where GOOD does not boot either, RequestError and DiskError.
        """
        self._put_back(board, observer)
        applied = apply_knobs(plan, self._filled(tree))
        job = self._attempts.job(self._run(board), applied, directory, observer)
        job = replace(job, plan=plan, preparation=preparation)
        outcome = carry_out(job, self._stopped)
        self._put_back(board, observer)
        error = outcome.error
        if isinstance(error, KnobError):
            raise NoOutcomeError(str(error))
        if isinstance(error, DiskError | RequestError):
            raise error
        if isinstance(error, BoardError) and not isinstance(error, PreparationError):
            self._check_board(tree, plan, board, observer, error)
        try:
            return value_of_run(outcome, applied, statistic)
        except RequestError as unlike:
            # What was booted is not what was asked for: that says nothing of the commit.
            raise NoOutcomeError(str(unlike)) from None

    def leave(self, observer: Observer, *, over: bool) -> str:
        """Leave the boards as they were, their cards with GOOD's image; return why not, or ""."""
        reasons = []
        for board in self._study.boards:
            reason = self._attempts.put_back(board, observer.log, over=True)
            try:
                self._know(self._good)
            except OSError:
                # No build was booted, or they were removed.
                over = False
            card = self._attempts.leave_card(board, observer.log, over=over and not reason)
            reasons.append(reason or card)
        return "; ".join(filter(None, reasons))

    def _put_back(self, board: str, observer: Observer) -> None:
        if reason := self._attempts.put_back(board, observer.log):
            raise LostBoardError(f"{reason}; the same command goes on where it was")

    def _check_board(
        self, tree: Path, plan: RunPlan, board: str, observer: Observer, error: BoardError
    ) -> None:
        """Raise LostBoardError where a board does not boot GOOD either: no commit is to blame."""
        if tree == self._good:
            return
        applied = apply_knobs(plan, self._filled(self._good))
        try:
            # Perhaps another process has run it.
            self._know(self._good)
        except OSError:
            return  # GOOD was not built: this is BAD, whose failure ends the bisection
        # Its directory is not used: no run is made.
        job = self._attempts.job(self._run(board), applied, self._good, observer)
        try:
            with ready(job.open(), observer.log, job.boot):
                pass
        except (BoardError, LabError) as again:
            text = f"{error}; nor does {board} boot GOOD: {again}"
            raise LostBoardError(f"{text}; the same command goes on where it was") from None
        finally:
            self._put_back(board, observer)

    def _run(self, board: str) -> PlannedRun:
        return PlannedRun(board, self._study.loads[0].name, TABLE, 0)

    def _know(self, tree: Path) -> None:
        """Hash the files of this machine that a build boots; raises OSError."""
        knobs = self._filled(tree)
        for path in host_files(knobs, self._study.boards):
            self._attempts.know_file(path, sha256_of_named(path))

    def _filled(self, tree: Path) -> dict[str, str]:
        return {name: value.replace(BUILD, str(tree)) for name, value in self._knobs.items()}


def _study(path: Path, knobs: Mapping[str, str]) -> StudyPlan:
    """Return the workload of a plan as a study whose variant has these knobs.

    Their files need not be there yet. Raises RequestError.
    """
    file = msgspec.structs.replace(read_plan_file(path), commits=None)
    study = plan_of_variants(file, [Variant("build")])
    study = msgspec.structs.replace(study, variants=[Variant(TABLE, dict(knobs))])
    check_knobs(study)
    return study
