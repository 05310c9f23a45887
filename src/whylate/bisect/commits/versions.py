"""Commits as versions: built in clones, and run on one board."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from whylate.bisect.commits.board_files import preparation, put_names
from whylate.bisect.commits.boot import BuildBoots, check_files, names_in
from whylate.bisect.commits.builds import Builds, Version
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import CommitsPlan
from whylate.bisect.ordered.value import value_of_run
from whylate.bisect.ordered.versions import LostBoardError, Nouns, Wanted
from whylate.boards.errors import BoardError
from whylate.recording.errors import DiskError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied
from whylate.run.loads import parse_load
from whylate.run.preparation.model import Preparation, PreparationError
from whylate.run.progress import Observer
from whylate.run.several import Job, carry_out
from whylate.stats.ordered_search.history import History
from whylate.study.attempt import Open
from whylate.study.plan_file import read_plan_file, workload_in

_HASH = 12
NOUNS = Nouns("commits", "commit", "commits", "its parent", "GOOD", "BAD")


class CommitVersions:
    """The commits of a range, on the boards of a plan.

    plan_path: of the file with the workload. jobs: how many commits are built at a time while a
    board measures.
    """

    nouns = NOUNS
    can_revert = True

    def __init__(
        self,
        plan: CommitsPlan,
        commits: Commits,
        directory: Path,
        plan_path: Path,
        open_board: Open,
        stopped: Callable[[], bool],
        jobs: int = 0,
    ) -> None:
        self._plan = plan
        self._commits = commits
        self._plan_path = plan_path
        self._open = open_board
        self._stopped = stopped
        self._builds = Builds(
            Path(plan.repository), directory, plan.build, plan.install, jobs=jobs, stopped=stopped
        )
        self._ready = Preparation()
        self.boards = run_plan(plan_path, Path("/build"))[0]
        #: Boots builds; None: boards boot what they have.
        self._boots: BuildBoots | None = None
        if plan.boot:
            good = self._builds.path(Version(plan.good))
            self._boots = BuildBoots(plan_path, plan.boot, good, directory, open_board, stopped)
        #: Files by which two builds are the same.
        self._compared = [plan.binary] if plan.binary else self._all_that_differs()

    def close(self) -> None:
        """Stop all builds, and wait for their end."""
        self._builds.close()

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
        return f"{self.short(place)} {self._commits.subjects[place] if place else NOUNS.first}"

    def short(self, place: int) -> str:
        """Return the hash, shortened."""
        return self._commits.hashes[place][:_HASH]

    def before(self, place: int) -> int:
        """Return the first parent."""
        return self._commits.parents[place][0]

    def made(self) -> set[int]:
        """Return the commits of which there is a build."""
        return {self.place(commit) for commit in self._builds.built_commits()}

    def make(self, wanted: Wanted) -> None:
        """Build a commit; raises UnavailableError, GitError, DiskError and StoppedEarlyError."""
        self._builds.built(self._version(wanted))

    def make_ahead(self, wanted: Callable[[], Iterable[Wanted]]) -> None:
        """Build commits in the background."""
        self._builds.build_ahead(lambda: [self._version(version) for version in wanted()])

    def failed_ahead(self) -> list[tuple[int, str]]:
        """Return commits that were tried ahead and do not build, with the reason."""
        failed = self._builds.failed_ahead()
        return [(self.place(v.commit), reason) for v, reason in failed if not v.without]

    def same_as(self, place: int, known: Sequence[str]) -> str:
        """Return the commit with the same binary, or ""; raises UnavailableError."""
        if not self._compared:
            return ""
        if self._boots is not None:
            # Before they are read.
            check_files(self._builds.path(Version(self.names[place])), self._boots.names)
        ours = self._builds.sum_of(Version(self.names[place]), self._compared)
        same = (
            name for name in known if self._builds.sum_of(Version(name), self._compared) == ours
        )
        return next(same, "")

    def bring(self, wanted: Wanted) -> None:
        """Install a build, and read what a run of it is prepared with; raises UnavailableError."""
        version = self._version(wanted)
        self._builds.installed(version)
        if self._boots is not None:
            self._boots.bring(self._builds.path(version))
        self._ready = preparation(self._plan, self._builds.path(version))

    def attempt(
        self, wanted: Wanted, board: str, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        """Make a run once and return its value and unit; raises as its protocol says."""
        shutil.rmtree(directory, ignore_errors=True)
        tree = self._builds.path(self._version(wanted))
        _, plan = run_plan(self._plan_path, tree, number)
        if self._boots is not None:
            return self._boots.attempt(
                tree, plan, board, directory, observer, self._ready, self._plan.statistic
            )
        job = Job(
            board, lambda: self._open(board, ()), plan, directory, observer, preparation=self._ready
        )
        outcome = carry_out(job, self._stopped)
        error = outcome.error
        if isinstance(error, DiskError | RequestError):
            raise error
        if isinstance(error, BoardError) and not isinstance(error, PreparationError):
            # Of the board, not of the commit.
            raise LostBoardError(f"{error}; the same command goes on where it was")
        return value_of_run(outcome, Applied(plan), self._plan.statistic)

    def leave(self, observer: Observer, *, over: bool) -> str:
        """Leave the boards as they were; return why not, or "". over: there is an answer."""
        return self._boots.leave(observer, over=over) if self._boots is not None else ""

    def _version(self, wanted: Wanted) -> Version:
        """Return what is built: a commit, or BAD with it reverted on top."""
        commit = self.names[wanted.place]
        if not wanted.reverted:
            return Version(commit)
        merge = len(self._commits.parents[wanted.place]) > 1
        return Version(self.names[-1], commit, merge=merge)

    def _all_that_differs(self) -> list[str]:
        """Return the files that a board gets of a build, if a run depends on nothing else of it."""
        first, second = (run_plan(self._plan_path, Path(name))[1] for name in ("/a", "/b"))
        if first != second or self._plan.install:
            return []
        return [*put_names(self._plan), *names_in(self._plan.boot, self.boards)]


def run_plan(path: Path, build: Path, number: int = 0) -> tuple[list[str], RunPlan]:
    """Return the boards of a plan, and a run of it with {build} filled in; raises RequestError.

    number: of the run, by which its seed is beyond that of the plan.
    """
    file = read_plan_file(path, {"build": str(build)})
    if file.variants or file.factors:
        raise RequestError(f"{path} has variants: a bisection of commits compares commits alone")
    if len(set(file.boards)) < len(file.boards):
        raise RequestError(f"{path} names a board twice")
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
    return file.boards, plan
