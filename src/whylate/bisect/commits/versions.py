"""Commits as versions: built in clones, and run on one board."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.bisect.commits.builds import Builds
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import CommitsPlan
from whylate.bisect.ordered.value import value_of_run
from whylate.bisect.ordered.versions import Nouns
from whylate.boards.board import Board, BoardError
from whylate.recording.errors import DiskError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied
from whylate.run.loads import parse_load
from whylate.run.progress import Observer
from whylate.run.several import Job, carry_out
from whylate.stats.ordered_search.history import History
from whylate.study.plan_file import read_plan_file, workload_in

_HASH = 12
NOUNS = Nouns("commits", "commit", "commits", "its parent", "GOOD", "BAD")


class CommitVersions:
    """The commits of a range. plan_path: of the file with the workload."""

    nouns = NOUNS

    def __init__(
        self,
        plan: CommitsPlan,
        commits: Commits,
        directory: Path,
        plan_path: Path,
        open_board: Callable[[str], Board],
        stopped: Callable[[], bool],
    ) -> None:
        self._plan = plan
        self._commits = commits
        self._plan_path = plan_path
        self._open = open_board
        self._stopped = stopped
        self._builds = Builds(Path(plan.repository), directory, plan.build, plan.install)

    @property
    def history(self) -> History:
        """The graph."""
        return self._commits.history

    @property
    def names(self) -> Sequence[str]:
        """Hashes."""
        return self._commits.hashes

    @property
    def made_s(self) -> Sequence[float]:
        """How long builds took, s."""
        return self._builds.took_s

    def place(self, name: str) -> int:
        """Return the place of a hash; raises GitError."""
        return self._commits.place(name)

    def title(self, place: int) -> str:
        """Return the hash, shortened, and the first line of the message."""
        return f"{self.short(place)} {self._commits.subjects[place]}"

    def short(self, place: int) -> str:
        """Return the hash, shortened."""
        return self._commits.hashes[place][:_HASH]

    def before(self, place: int) -> int:
        """Return the first parent."""
        return self._commits.parents[place][0]

    def make(self, place: int) -> None:
        """Build a commit; raises UnavailableError, GitError and DiskError."""
        self._builds.built(self.names[place])

    def same_as(self, place: int, known: Sequence[str]) -> str:
        """Return the commit with the same binary, or ""; raises UnavailableError."""
        if not self._plan.binary:
            return ""
        ours = self._builds.sum_of(self.names[place], self._plan.binary)
        same = (name for name in known if self._builds.sum_of(name, self._plan.binary) == ours)
        return next(same, "")

    def bring(self, place: int) -> None:
        """Install a build; raises UnavailableError."""
        self._builds.installed(self.names[place])

    def attempt(
        self, place: int, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        """Make a run once and return its value and unit; raises as its protocol says."""
        shutil.rmtree(directory, ignore_errors=True)
        board, plan = run_plan(self._plan_path, self._builds.path(self.names[place]), number)
        job = Job(board, lambda: self._open(board), plan, directory, observer)
        outcome = carry_out(job, self._stopped)
        if isinstance(outcome.error, DiskError | RequestError):
            raise outcome.error
        if isinstance(outcome.error, BoardError):
            # Of the board, not of the commit.
            raise RequestError(f"{outcome.error}; the same command goes on where it was")
        return value_of_run(outcome, Applied(plan), self._plan.statistic)


def run_plan(path: Path, build: Path, number: int = 0) -> tuple[str, RunPlan]:
    """Return the board of a plan, and a run of it with {build} filled in; raises RequestError.

    number: of the run, by which its seed is beyond that of the plan.
    """
    file = read_plan_file(path, {"build": str(build)})
    if file.variants or file.factors:
        raise RequestError(f"{path} has variants: a bisection of commits compares commits alone")
    if len(file.boards) != 1:
        raise RequestError(f"{path} names {len(file.boards)} boards: commits are run on one")
    if len(file.loads) > 1:
        raise RequestError(f"{path} has {len(file.loads)} sets of loads: commits are run with one")
    loads = [parse_load(text) for texts in file.loads.values() for text in texts]
    plan = RunPlan(
        workload=workload_in(file),
        cpus=file.cpus,
        loads=loads,
        virtual_time=file.virtual_time,
        seed=file.seed + number,
    )
    return file.boards[0], plan
