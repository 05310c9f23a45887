"""Builds of commits: in the background, within a time, and nothing left of what was stopped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from made_repository import MadeRepository, git, make_repository
from waiting import came_true
from whylate.bisect.commits.builds import Builds, Version
from whylate.bisect.ordered.versions import StoppedEarlyError, UnavailableError

#: Leaves a grandchild, which ignores SIGTERM, and writes its process id.
HANGS = "trap '' TERM; (trap '' TERM; sleep 100) & echo $! >>{pids}; wait; sleep 100"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> MadeRepository:
    return make_repository(tmp_path_factory.mktemp("made") / "repository", 1)


@pytest.fixture
def builds(repository: MadeRepository, tmp_path: Path) -> Iterator[Builds]:
    """Builds that take no time and count themselves, one at a time ahead."""
    words = ["sh", "-c", f"echo built >>{tmp_path}/count; cp main.c made"]
    builds = Builds(repository.path, tmp_path, words, [], jobs=1)
    yield builds
    builds.close()


def ended(pid: int) -> bool:
    """Whether a process is gone, or nothing but its status is left."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def check_gone(pids: Path) -> None:
    for line in pids.read_text().split():
        assert came_true(partial(ended, int(line)), 10)


def test_a_build_that_takes_too_long_leaves_no_grandchild(
    repository: MadeRepository, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    words = ["sh", "-c", HANGS.format(pids=pids)]
    builds = Builds(repository.path, tmp_path, words, [], limit_s=0.5)
    with pytest.raises(UnavailableError, match=r"the build took more than 0\.5 s"):
        builds.built(Version(repository.good))
    check_gone(pids)


def test_builds_in_the_background_end_with_the_bisection(
    repository: MadeRepository, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    builds = Builds(repository.path, tmp_path, ["sh", "-c", HANGS.format(pids=pids)], [], jobs=2)
    builds.build_ahead(lambda: [Version(repository.good), Version(repository.bad)])
    assert came_true(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    builds.close()
    check_gone(pids)
    assert not builds.is_built(Version(repository.good))


def test_a_build_ends_when_the_user_ends_the_bisection(
    repository: MadeRepository, tmp_path: Path
) -> None:
    stop = threading.Event()
    builds = Builds(repository.path, tmp_path, ["sleep", "100"], [], stopped=stop.is_set)
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StoppedEarlyError):
        builds.built(Version(repository.good))
    assert time.monotonic() - began < 50


def test_what_is_built_ahead_is_not_built_again(
    builds: Builds, repository: MadeRepository, tmp_path: Path
) -> None:
    version = Version(repository.culprit)
    builds.build_ahead(lambda: [version])
    assert came_true((tmp_path / "count").exists)
    # At once: it may still be at work.
    assert (builds.built(version) / "made").exists()
    assert builds.built_commits() == {repository.culprit}
    assert (tmp_path / "count").read_text() == "built\n"


def test_what_does_not_build_ahead_is_known_before_its_turn(
    repository: MadeRepository, tmp_path: Path
) -> None:
    builds = Builds(repository.path, tmp_path, ["sh", "-c", "echo no; exit 3"], [], jobs=1)
    failed: list[tuple[Version, str]] = []
    builds.build_ahead(lambda: [Version(repository.bad)])

    def known() -> bool:
        failed.extend(builds.failed_ahead())
        return bool(failed)

    assert came_true(known)
    builds.close()
    assert failed == [(Version(repository.bad), "the build failed (3): no")]


def test_the_reason_of_a_failed_build_is_the_line_that_tells_of_the_error(
    repository: MadeRepository, tmp_path: Path
) -> None:
    script = "printf 'int main() { return none; }' >broken.c; cc -c broken.c"
    builds = Builds(repository.path, tmp_path, ["sh", "-c", script], [], jobs=1)
    with pytest.raises(UnavailableError, match=r"failed \(1\): broken\.c:1:21: error: .*none"):
        builds.built(Version(repository.bad))
    builds.close()


def test_a_background_build_is_nice(repository: MadeRepository, tmp_path: Path) -> None:
    builds = Builds(repository.path, tmp_path, ["sh", "-c", "sleep 0.3; nice >nice"], [], jobs=1)
    version = Version(repository.good)
    builds.build_ahead(lambda: [version])
    assert came_true(lambda: builds.is_built(version))
    builds.close()
    assert int((builds.path(version) / "nice").read_text()) == max(15, os.nice(0))


def test_a_commit_is_reverted_on_top_of_another(builds: Builds, repository: MadeRepository) -> None:
    tree = builds.built(Version(repository.bad, repository.culprit))
    parent = git(repository.path, "show", f"{repository.culprit}^:words.h")
    assert (tree / "words.h").read_text().strip() == parent
    # Nothing but that.
    assert git(tree, "diff", "--name-only", "HEAD").split() == ["words.h"]
    assert git(repository.path, "status", "--porcelain") == ""


def test_a_merge_is_reverted_with_all_that_it_has_merged(
    builds: Builds, repository: MadeRepository
) -> None:
    merge = git(repository.path, "rev-list", "--merges", "-1", "HEAD")
    tree = builds.built(Version(merge, merge, merge=True))
    assert git(tree, "diff", "--name-only", f"{merge}^1") == ""


def test_what_cannot_be_reverted_is_a_reason(builds: Builds, repository: MadeRepository) -> None:
    other = git(repository.path, "rev-parse", f"{repository.bad}~3")
    with pytest.raises(UnavailableError, match="it does not apply: git revert failed"):
        builds.built(Version(repository.bad, other))
