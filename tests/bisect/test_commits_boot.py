"""`whylate bisect commits` whose boards boot what a commit's build has made.

In most tests the board is a directory with EXTLINUX: commands of runs are carried out on this
machine, and print the work that the kernel's file names. One test boots two kernels of Debian.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from boot_boards import TreeBoard
from made_repository import git
from own_boards import own_boards
from own_roots import tiny_root, write_tarball
from whylate.bisect.commits.graph import read_commits
from whylate.bisect.commits.journal import LAYOUT
from whylate.bisect.commits.model import CommitsPlan
from whylate.bisect.commits.versions import CommitVersions
from whylate.bisect.ordered.carry_out import bisect_ordered
from whylate.bisect.ordered.journal import OrderedJournal
from whylate.bisect.ordered.versions import LostBoardError, UnavailableError, Wanted
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.board import Board, Notify, StartedProbe
from whylate.boards.boot import restart
from whylate.boards.boot.extlinux_conf import default_entry
from whylate.boards.local import LocalBoard
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.cli.bisect.commits import commits_plan
from whylate.cli.bisect.ordered_view import OrderedView
from whylate.recording.reader import open_recording
from whylate.run.errors import RequestError
from whylate.run.progress import Quiet
from whylate.study.attempt import Open

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@localhost")
KERNEL = 'kernel = "{build}/Image"\n'


class KernelBoard(TreeBoard):
    """A board that keeps which kernel it has booted; one that panics never comes up.

    dead: it never comes up, whatever it boots.
    """

    dead = False

    def _next(self) -> list[str]:
        mark, kernel = self.root / "adv", b""
        if mark.exists():
            text = (self.root / "boot/extlinux/extlinux.conf").read_text()
            entry = default_entry(f"{text}\nDEFAULT {mark.read_text().strip()}\n", "/extlinux")
            assert entry is not None
            kernel = Path(self._mapped(f"/boot{entry.kernel.removeprefix('/boot')}")).read_bytes()
        (self.root / "booted").write_bytes(kernel)
        words = super()._next()
        return [*words, "hang"] if b"panic" in kernel or self.dead else words

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Start the probe on this machine."""
        return LocalBoard().start_probe(notify)

    def stay_on(self) -> None:
        """Do nothing."""

    def stream(self, argv: list[str]) -> object:
        """Start a command on this machine."""
        return LocalBoard().stream(argv)


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelBoard:
    monkeypatch.setattr(restart, "_POLL_S", 0.0)
    monkeypatch.setattr(restart, "RESTART_S", 3.0)
    return KernelBoard(tmp_path / "board", "extlinux")


def opener(board: KernelBoard) -> Open:
    return lambda _, __: cast(Board, board)


def make_commits(path: Path, kernels: list[str]) -> list[str]:
    """Make a repository with a commit for each content of the file Image; return the hashes."""
    path.mkdir()
    git(path, "init", "-q")
    hashes = []
    for number, kernel in enumerate(kernels):
        (path / "Image").write_text(kernel)
        (path / "README").write_text(f"change {number}\n")
        git(path, "add", "-A")
        git(path, *AUTHOR, "commit", "-q", "-m", f"change {number}")
        hashes.append(git(path, "rev-parse", "HEAD"))
    return hashes


def write_plan(
    tmp_path: Path, boot: str, head: str = "boards = ['board7']\n", build: str = "true"
) -> Path:
    booted = tmp_path / "board/booted"
    work = (
        f"if [ -e {booted} ]; then echo $(($(cat {booted}) + $$ % 7)) words; else echo 7 words; fi"
    )
    path = tmp_path / "plan.toml"
    path.write_text(
        f'{head}[commits]\nbuild = """{build}"""\n[commits.boot]\n{boot}'
        f"[cmd]\ncommand = ['/bin/sh', '-c', '{work}']\nvalue = '(\\d+) words'\nrounds = 1\n"
    )
    return path


class Made:
    """A bisection of commits with these kernels. open_for: opens the board."""

    def __init__(self, tmp_path: Path, open_for: Open, kernels: list[str], **plan: str) -> None:
        self.directory = tmp_path / "found"
        self.directory.mkdir()
        self.hashes = make_commits(tmp_path / "repository", kernels)
        self.path = write_plan(tmp_path, **({"boot": KERNEL} | plan))
        self.commits = read_commits(tmp_path / "repository", self.hashes[0], self.hashes[-1])
        self.plan = self.planned()
        self.versions = self.opened(open_for)

    def opened(self, open_for: Open) -> CommitVersions:
        """Return the commits on boards, as the plan is written now."""
        return CommitVersions(
            self.planned(), self.commits, self.directory, self.path, open_for, lambda: False
        )

    def planned(self) -> CommitsPlan:
        """Return the plan as it is written now."""
        asked: dict[str, object] = {"build": "", "install": "", "binary": "", "first_parent": False}
        asked |= {"put": (), "before": (), "after": (), "statistic": None, "confidence": 0.95}
        asked |= {"runs": 100, "repository": self.directory.parent / "repository"}
        return commits_plan(self.commits, self.path, asked)

    def brought(self, place: int) -> None:
        self.versions.make(Wanted(place))
        self.versions.bring(Wanted(place))

    def value(self, place: int) -> float:
        self.brought(place)
        run = self.directory / "run"
        name = self.versions.boards[0]
        value, _ = self.versions.attempt(Wanted(place), name, 1, run, Quiet())
        return round(math.exp(value), 6)  # runs are compared by logarithms


def test_the_commit_whose_kernel_makes_it_is_found(tmp_path: Path, board: KernelBoard) -> None:
    kernels = ["1000", "1000 ", "1000", "panic", "1500", "1500 ", "1500  "]
    made = Made(tmp_path, opener(board), kernels)
    before = board.state()
    with (
        OrderedJournal(made.directory, LAYOUT, made.plan) as journal,
        OrderedView(made.plan, made.versions) as view,
    ):
        result = bisect_ordered(journal, made.versions, view, lambda: False)
        assert made.versions.leave(Quiet(), over=True) == ""
        steps = journal.lines
    assert result.answer is not None
    places = set(result.answer.versions)
    # The one whose kernel panics cannot be told from the one behind it.
    assert places in ({3, 4}, {4})
    assert board.state() == before, "its own entry, and no file of ours"
    cannot = {step.version: step.reason for step in steps if step.kind == "unbuildable"}
    if cannot:
        assert set(cannot) == {made.hashes[3]}
        assert "did not come up" in cannot[made.hashes[3]]
    same = {(step.version, step.other) for step in steps if step.kind == "same"}
    assert same <= {(made.hashes[2], made.hashes[0])}


def test_a_board_boots_the_kernel_of_the_commit(tmp_path: Path, board: KernelBoard) -> None:
    made = Made(tmp_path, opener(board), ["1000", "1500"])
    assert 1000 <= made.value(0) < 1007
    assert 1500 <= made.value(1) < 1507
    assert made.plan.boot == {"kernel": "{build}/Image"}


def test_a_word_that_is_not_there_in_the_run_says_nothing(
    tmp_path: Path, board: KernelBoard
) -> None:
    boot = f'{KERNEL}"cmdline:whylate.word" = true\n"cmdline:quiet" = false\n'
    made = Made(tmp_path, opener(board), ["1000", "1500"], boot=boot)
    assert made.plan.boot["cmdline:quiet"] == "no"
    # The probe is on this machine, whose kernel was not booted with it.
    with pytest.raises(NoOutcomeError, match=r"whylate.word is not on the kernel's command line"):
        made.value(0)
    assert "whylate.word" in board.boots[-1]
    assert "quiet" not in board.boots[-1]


def test_builds_with_the_same_kernel_are_one(tmp_path: Path, board: KernelBoard) -> None:
    made = Made(tmp_path, opener(board), ["1000", "1500", "1000"])
    for place in range(3):
        made.versions.make(Wanted(place))
    assert made.versions.same_as(1, made.hashes[:1]) == ""
    assert made.versions.same_as(2, made.hashes[:2]) == made.hashes[0]


def test_another_kernel_than_that_of_the_commit_says_nothing(
    tmp_path: Path, board: KernelBoard
) -> None:
    # This board says that it runs this machine's kernel, whatever it boots.
    other = "1000\nLinux version 5.9.1 (a@b) (gcc) #7 SMP\n"
    made = Made(tmp_path, opener(board), ["1000", other, "1000"])
    with pytest.raises(NoOutcomeError, match=r"the kernel that runs is .*, and the file has 5.9"):
        made.value(1)


def test_a_kernel_that_does_not_come_up_is_of_the_commit(
    tmp_path: Path, board: KernelBoard
) -> None:
    made = Made(tmp_path, opener(board), ["1000", "panic", "1000"])
    assert 1000 <= made.value(0) < 1007
    with pytest.raises(NoOutcomeError, match="did not come up"):
        made.value(1)
    assert 1000 <= made.value(0) < 1007


def test_a_board_that_does_not_boot_good_either_is_lost(tmp_path: Path, board: KernelBoard) -> None:
    made = Made(tmp_path, opener(board), ["1000", "1500", "1000"])
    made.brought(0)
    board.dead = True
    with pytest.raises(LostBoardError, match="nor does board7 boot GOOD"):
        made.value(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "No such file"),
        (lambda path: path.mkdir(), "it is no regular file"),
        (os.mkfifo, "it is no regular file"),
        (lambda path: path.symlink_to("/etc/hostname"), "leads out of the build"),
        (lambda path: path.symlink_to(path), "(?i)symbolic links|links lead nowhere"),
    ],
)
def test_what_a_build_made_must_be_a_file_inside_it(
    tmp_path: Path, board: KernelBoard, make: Callable[[Path], object], message: str
) -> None:
    made = Made(tmp_path, opener(board), ["1000", "1500"])
    made.versions.make(Wanted(1))
    made.versions.make(Wanted(0))
    image = made.directory / "builds" / made.hashes[1] / "Image"
    image.unlink()
    make(image)
    for use in (
        lambda: made.versions.bring(Wanted(1)),
        lambda: made.versions.same_as(1, made.hashes[:1]),
    ):
        with pytest.raises(UnavailableError, match=message):
            use()


@pytest.mark.parametrize(
    ("boot", "head", "message"),
    [
        ('kernel = "{build}/../Image"', "boards = ['board7']", "write a file of a build as"),
        ('kernel = "x{build}/Image"', "boards = ['board7']", "write a file of a build as"),
        ('kernel = "{build}/{name}"', "boards = ['board7']", "write a file of a build as"),
        ('"cmdline:x" = "{build}/x"', "boards = ['board7']", "write a file of a build as"),
        ('governor = "performance"', "boards = ['board7']", "has no knob 'governor'"),
        ('kernel = ["x"]', "boards = ['board7']", "'kernel' in .commits.boot. is a list"),
        ('kernel = "{build}/Image"', "boards = ['local']", "sets what is booted, for which local"),
        ('kernel = "{build}/Image"', "boards = ['pc']", "is a virtual board, which boots"),
        ('image = "{build}/x"', "boards = ['ssh://x']", "has no card"),
    ],
)
def test_what_cannot_be_booted_is_refused_before_anything_is_built(
    tmp_path: Path, board: KernelBoard, boot: str, head: str, message: str
) -> None:
    made = Made(tmp_path, opener(board), ["1000", "1500"])
    write_plan(tmp_path, f"{boot}\n", f"{head}\n")
    with pytest.raises(RequestError, match=message):
        made.opened(opener(board))
    assert not (made.directory / "builds").exists()


@pytest.mark.qemu
@pytest.mark.skipif(platform.machine() != "x86_64", reason="it would take long")
def test_a_virtual_board_boots_the_kernels_of_two_commits(tmp_path: Path) -> None:
    with own_boards("pc", "pc-rt"):
        for name in ("pc", "pc-rt"):
            write_tarball(tmp_path / f"{name}.tar", tiny_root(name))
        made = Made(
            tmp_path,
            lambda name, words: open_board(name, BoardOptions(kernel_args=words)),
            ["pc", "pc-rt"],
            boot='image = "{build}/root.tar"\n',
            head="boards = ['pc']\nvirtual_time = true\n",
            build=f"sh -c 'cp {tmp_path}/$(cat Image).tar root.tar'",
        )
        seen = []
        for place in (0, 1):
            made.value(place)
            facts = open_recording(made.directory / "run").manifest.facts
            seen.append({fact.name: fact.value for fact in facts}["preemption"])
        assert [value == "rt" for value in seen] == [False, True]
