"""Builds of commits: each once, in a clone of its own, by a command of the user's.

A clone has no objects but those of the user's repository, which stays as it is. What a host left
that was killed meanwhile is removed, and made again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from whylate.bisect.commits.git import run_git
from whylate.bisect.ordered.versions import UnavailableError
from whylate.files import sha256_of
from whylate.recording.errors import DiskError
from whylate.text import plain

BUILDS = "builds"
#: A command that runs for longer is stopped, s.
LONGEST_S = 4 * 3600
#: Of what a command prints, this much of its end is shown.
_SHOWN = 300


class Builds:
    """The builds of a bisection.

    repository, directory: of the user, and of the bisection. build, install: words of commands,
    run in the work tree.
    """

    def __init__(
        self, repository: Path, directory: Path, build: Sequence[str], install: Sequence[str]
    ) -> None:
        self._repository = repository.resolve()
        self._directory = directory.resolve()
        self._build = list(build)
        self._install = list(install)
        self._installed = ""
        #: What each build of this process has taken, s.
        self.took_s: list[float] = []

    def path(self, commit: str) -> Path:
        """Return the work tree of a commit."""
        return self._directory / BUILDS / commit

    def built(self, commit: str) -> Path:
        """Build a commit if it is not built yet, and return its work tree.

        Raises UnavailableError where the command fails, GitError and DiskError.
        """
        tree = self.path(commit)
        mark = tree.with_suffix(".built")
        if mark.exists():
            return tree
        try:
            tree.parent.mkdir(exist_ok=True)
            # What a build left that was killed.
            shutil.rmtree(tree, ignore_errors=True)
        except OSError as error:
            raise DiskError(f"{tree.parent} cannot be written: {error.strerror}") from None
        clone = ["clone", "--quiet", "--shared", "--no-checkout", ".", str(tree)]
        run_git(self._repository, clone)
        run_git(tree, ["checkout", "--quiet", "--detach", commit])
        began = time.monotonic()
        self._run(self._build, "build", commit)
        self.took_s.append(time.monotonic() - began)
        try:
            mark.touch()
        except OSError as error:
            raise DiskError(f"{mark} cannot be made: {error.strerror}") from None
        return tree

    def installed(self, commit: str) -> None:
        """Install a commit that was built, unless it is what was installed last."""
        if self._install and self._installed != commit:
            self._installed = ""
            self._run(self._install, "install", commit)
        self._installed = commit

    def sum_of(self, commit: str, name: str) -> str:
        """Return the SHA-256 of a file of a build; raises UnavailableError."""
        try:
            return sha256_of(self.path(commit) / name)
        except OSError as error:
            reason = f"the build made no {plain(name, 100)}: {error.strerror}"
            raise UnavailableError(reason) from None

    def _run(self, words: Sequence[str], what: str, commit: str) -> None:
        """Run a command in the work tree of a commit; raises UnavailableError."""
        tree = self.path(commit)
        log = tree.with_suffix(".log")
        environment = dict(os.environ) | {"WHYLATE_COMMIT": commit, "WHYLATE_BUILD": str(tree)}
        try:
            with log.open("ab") as output:
                done = subprocess.run(
                    words, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, timeout=LONGEST_S, check=False,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"the {what} took more than {LONGEST_S // 3600} h") from None
        except FileNotFoundError:
            raise UnavailableError(
                f"the {what} command is missing: {plain(words[0], 100)}"
            ) from None
        except OSError as error:
            raise UnavailableError(f"the {what} cannot be run: {error.strerror}") from None
        if done.returncode:
            raise UnavailableError(f"the {what} failed ({done.returncode}): {_end_of(log)}")


def _end_of(log: Path) -> str:
    """Return the last line that a command printed."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return "its log cannot be read"
    return plain(next((line for line in reversed(lines) if line.strip()), "no output"), _SHOWN)
