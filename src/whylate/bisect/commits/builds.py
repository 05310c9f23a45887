"""Builds of commits: each once, in a clone of its own, by a command of the user's.

A clone has no objects but those of the user's repository, which stays as it is. What a host left
that was killed meanwhile is removed, and made again. While a board measures, other commits are
built ahead of their turn.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from whylate.bisect.commits.build_process import CommandError, run_command
from whylate.bisect.commits.git import GitError, run_git
from whylate.bisect.ordered.versions import UnavailableError
from whylate.files import sha256_of
from whylate.recording.errors import DiskError
from whylate.run.threads import wait_for_futures
from whylate.text import plain

BUILDS = "builds"
#: A command that runs for longer is stopped, s.
LONGEST_S = 4 * 3600.0
#: Of what a command prints, this much of its end is shown.
_SHOWN = 300
#: What tells of an error, in the words of compilers and of make.
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)


@dataclass(frozen=True)
class Version:
    """What is built: a commit, or a commit with another one reverted on top of it.

    merge: whether that is a merge, of which all is reverted that it has merged.
    """

    commit: str
    without: str = ""
    merge: bool = False

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.commit}-without-{self.without}" if self.without else self.commit


class Builds:
    """The builds of a bisection.

    repository, directory: of the user, and of the bisection. build, install: words of commands,
    run in the work tree. jobs: how many are built at a time while a board measures. stopped: ends
    a build when it returns true.
    """

    def __init__(
        self,
        repository: Path,
        directory: Path,
        build: Sequence[str],
        install: Sequence[str],
        *,
        jobs: int = 0,
        stopped: Callable[[], bool] = lambda: False,
        limit_s: float = LONGEST_S,
    ) -> None:
        self._repository = repository.resolve()
        self._directory = directory.resolve()
        self._build = list(build)
        self._install = list(install)
        self._installed: Version | None = None
        self._limit_s = limit_s
        self._stopped = stopped
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(jobs, "build") if jobs else None
        #: Builds that were begun ahead of their turn, and what begins them.
        self._ahead: dict[Version, Future[None]] = {}
        self._planning: Future[None] | None = None
        #: A version is built by one thread at a time.
        self._locks: dict[Version, threading.Lock] = {}
        #: What each build of this process has taken, s.
        self.took_s: list[float] = []

    def close(self) -> None:
        """Stop all builds, and wait for their end."""
        self._closed.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def path(self, version: Version) -> Path:
        """Return the work tree of a version."""
        return self._directory / BUILDS / version.name

    def is_built(self, version: Version) -> bool:
        """Return whether there is a build already."""
        return self._mark(version).exists()

    def built_commits(self) -> set[str]:
        """Return the commits of which there is a build."""
        marks = (self._directory / BUILDS).glob("*.built")
        return {mark.stem for mark in marks if "-" not in mark.stem}

    def built(self, version: Version) -> Path:
        """Build a version if it is not built yet, and return its work tree.

        Raises UnavailableError where that fails, GitError, DiskError, and StoppedEarlyError.
        """
        ahead = self._ahead.pop(version, None)
        if ahead is not None and not ahead.cancel():
            wait_for_futures([ahead])
            ahead.result()
        self._make(version, nice=False)
        return self.path(version)

    def build_ahead(self, wanted: Callable[[], Iterable[Version]]) -> None:
        """Build versions in the background, the first ones first, and not those wanted before.

        wanted is called in the background too.
        """
        if self._pool is None:
            return
        if self._planning is not None and self._planning.done():
            self._planning.result()
        for version, future in list(self._ahead.items()):
            if future.cancel():
                del self._ahead[version]
        self._planning = self._pool.submit(self._begin, wanted)

    def failed_ahead(self) -> list[tuple[Version, str]]:
        """Return versions that were tried ahead and do not build, with the reason."""
        failed = []
        for version, future in list(self._ahead.items()):
            error = future.exception() if future.done() and not future.cancelled() else None
            if isinstance(error, UnavailableError):
                failed.append((version, str(error)))
                del self._ahead[version]
        return failed

    def installed(self, version: Version) -> None:
        """Install a version that was built, unless it is what was installed last."""
        if self._install and self._installed != version:
            self._installed = None
            self._run(self._install, "install", version, nice=False)
        self._installed = version

    def sum_of(self, version: Version, names: Sequence[str]) -> list[str]:
        """Return the SHA-256 of files of a build; raises UnavailableError where one is absent."""
        sums = []
        for name in names:
            try:
                sums.append(sha256_of(self.path(version) / name))
            except OSError as error:
                reason = f"the build made no {plain(name, 100)}: {error.strerror}"
                raise UnavailableError(reason) from None
        return sums

    def _begin(self, wanted: Callable[[], Iterable[Version]]) -> None:
        for version in wanted():
            known = version in self._ahead or self.is_built(version)
            if known or self._closed.is_set() or self._pool is None:
                continue
            try:
                self._ahead[version] = self._pool.submit(self._make, version, nice=True)
            except RuntimeError:
                return  # closed meanwhile

    def _make(self, version: Version, *, nice: bool) -> None:
        """Check a version out and build it, unless there is a build."""
        with self._locks.setdefault(version, threading.Lock()):
            if not self.is_built(version):
                self._make_anew(version, nice=nice)

    def _make_anew(self, version: Version, *, nice: bool) -> None:
        tree, mark = self.path(version), self._mark(version)
        try:
            tree.parent.mkdir(exist_ok=True)
            # What a build left that was killed.
            shutil.rmtree(tree, ignore_errors=True)
        except OSError as error:
            raise DiskError(f"{tree.parent} cannot be written: {error.strerror}") from None
        clone = ["clone", "--quiet", "--shared", "--no-checkout", ".", str(tree)]
        run_git(self._repository, clone)
        run_git(tree, ["checkout", "--quiet", "--detach", version.commit])
        if version.without:
            _revert(tree, version)
        began = time.monotonic()
        self._run(self._build, "build", version, nice=nice)
        self.took_s.append(time.monotonic() - began)
        try:
            mark.touch()
        except OSError as error:
            raise DiskError(f"{mark} cannot be made: {error.strerror}") from None

    def _mark(self, version: Version) -> Path:
        tree = self.path(version)
        return tree.with_name(f"{tree.name}.built")

    def _run(self, words: Sequence[str], what: str, version: Version, *, nice: bool) -> None:
        """Run a command in the work tree of a version; raises UnavailableError."""
        tree = self.path(version)
        log = tree.with_name(f"{tree.name}.log")
        environment = dict(os.environ) | {
            "WHYLATE_COMMIT": version.commit,
            "WHYLATE_BUILD": str(tree),
        }

        def stopped() -> bool:
            return self._closed.is_set() or self._stopped()

        try:
            status = run_command(words, tree, log, environment, self._limit_s, stopped, nice=nice)
        except CommandError as error:
            raise UnavailableError(f"the {what} {error}") from None
        if status:
            raise UnavailableError(f"the {what} failed ({status}): {_end_of(log)}")


def _revert(tree: Path, version: Version) -> None:
    """Revert a commit in a work tree; raises UnavailableError where that needs a person."""
    parent = ["--mainline", "1"] if version.merge else []
    try:
        run_git(tree, ["revert", "--no-commit", *parent, version.without])
    except GitError as error:
        raise UnavailableError(f"it does not apply: {error}") from None


def _end_of(log: Path) -> str:
    """Return the first of a command's last lines that tells of an error, or else the last one.

    Compilers mark the place in the source with further lines behind that one.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return "its log cannot be read"
    printed = [line for line in lines if line.strip()] or ["no output"]
    return plain(next(filter(_ERROR.search, printed), printed[-1]), _SHOWN)
