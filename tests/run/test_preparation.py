"""What a board gets for a run: files and commands, and what it is left with."""

from __future__ import annotations

import math
import stat
import subprocess
from pathlib import Path

import pytest

from own_boards import own_boards
from whylate.bisect.outcome import outcome_of
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.command import Command, CommandPoint
from whylate.run.errors import RequestError
from whylate.run.preparation.board import prepared
from whylate.run.preparation.model import Preparation, PreparationError, check_paths, check_script
from whylate.run.progress import Quiet
from whylate.run.several import Job, carry_out

#: A directory of the image over which its init mounts another.
WORDS = "/dev/shm/words"  # noqa: S108 (of the board)
SCRIPT = b"#!/bin/sh\necho new\n"


def state(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every path below a folder with its mode and its content or target."""
    held: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.readlink().as_posix() if path.is_symlink() else b""
        held[str(path.relative_to(folder))] = (
            mode,
            path.read_bytes() if stat.S_ISREG(mode) else content,
        )
    return held


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old").write_bytes(b"what was there")
    (tmp_path / "old").chmod(0o711)
    (tmp_path / "link").symlink_to("old")
    return tmp_path


def preparation(folder: Path, *before: str) -> Preparation:
    names = ("old", "link", "new", "made/for/it", "made/for/that")
    files = tuple((str(folder / name), SCRIPT, 0o750) for name in names)
    return Preparation(files, tuple(tuple(command.split()) for command in before))


def test_files_are_there_with_their_mode_and_then_all_is_as_before(folder: Path) -> None:
    before = state(folder)
    wanted = preparation(folder)
    with prepared(LocalBoard(), wanted):
        for path, data, mode in wanted.files:
            assert Path(path).read_bytes() == data
            assert stat.S_IMODE(Path(path).lstat().st_mode) == mode
        assert (folder / "old.whylate-saved").read_bytes() == b"what was there"
    assert state(folder) == before


def test_what_a_killed_host_left_is_put_back_by_the_next_run(folder: Path) -> None:
    before = state(folder)
    killed = prepared(LocalBoard(), preparation(folder))
    killed.__enter__()
    assert state(folder) != before
    with prepared(LocalBoard(), preparation(folder)):
        pass
    assert state(folder) == before


def test_a_command_that_fails_is_named_and_all_is_put_back(folder: Path) -> None:
    before = state(folder)
    wanted = preparation(folder, f"touch {folder}/ran", f"ls {folder}/absent")
    failure = pytest.raises(PreparationError, match=r"ls .* ended with status 2")
    with failure, prepared(LocalBoard(), wanted):
        pytest.fail("the run must not begin")
    (folder / "ran").unlink()
    assert state(folder) == before


def test_what_runs_after_the_run_runs_before_the_files_go(folder: Path) -> None:
    wanted = Preparation(
        ((str(folder / "new"), SCRIPT, 0o755),), (), (("cp", f"{folder}/new", f"{folder}/seen"),)
    )
    with prepared(LocalBoard(), wanted):
        pass
    assert (folder / "seen").read_bytes() == SCRIPT
    failing = Preparation((), (), (("false",),))
    failure = pytest.raises(BoardError, match="false ended with status 1")
    with failure, prepared(LocalBoard(), failing):
        pass


def test_a_file_cannot_take_the_place_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    wanted = Preparation(((str(tmp_path / "d"), SCRIPT, 0o755),))
    with pytest.raises(BoardError, match="is a directory"), prepared(LocalBoard(), wanted):
        pass


@pytest.mark.parametrize(
    "path",
    ["bin/x", "/", "/a/../b", "/proc/x", "/a b", "/a;b", "/whylate/plan", "/a/", "/" + "x" * 300],
)
def test_what_is_no_path_on_a_board_is_refused(path: str) -> None:
    with pytest.raises(RequestError, match="--put"):
        check_paths([path])
    with pytest.raises(RequestError, match="path of its own"):
        check_paths(["/a/b", "/a/b"])


def test_a_file_that_is_not_what_was_put_there_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(SCRIPT)
    script = check_script((str(path), SCRIPT, 0o644))
    no_tools = f"sha256sum() {{ return 127; }}; {script}"
    for text in (script, no_tools):
        assert not subprocess.run(["sh", "-c", text], check=False).returncode
    path.write_bytes(SCRIPT.replace(b"new", b"old"))
    assert subprocess.run(["sh", "-c", script], check=False).returncode
    path.write_bytes(SCRIPT + b"more")
    assert subprocess.run(["sh", "-c", no_tools], check=False).returncode


@pytest.mark.qemu
def test_in_virtual_time_files_and_commands_are_there_when_the_run_begins(tmp_path: Path) -> None:
    script = b"#!/bin/sh\ncat /run/words\nls -l /opt/made/work | grep -q rwxr-x--x\n"
    work = ("/opt/made/work", script, 0o751)
    # In the image that is a link to busybox.
    others = (("/bin/true", b"#!/bin/sh\nexit 9\n", 0o755), (WORDS, b"17 words\n", 0o644))
    plan = RunPlan(
        workload=Command(
            points=[CommandPoint(("/opt/made/work",), value=r"(\d+) words")], rounds=1
        ),
        virtual_time=True,
    )

    def run(name: str, *before: tuple[str, ...]) -> Exception | None:
        job = Job(
            "pc", lambda: open_board("pc", BoardOptions()), plan, tmp_path / name, Quiet(),
            preparation=Preparation((work, *others), before),
        )  # fmt: skip
        return carry_out(job, lambda: False).error

    with own_boards("pc"):
        error = run("good", ("cp", WORDS, "/run"), ("/bin/sh", "-c", "/bin/true || [ $? = 9 ]"))
        assert error is None, error
        value, _ = outcome_of(tmp_path / "good", "value")
        assert math.exp(value) == pytest.approx(17)
        error = run("bad", ("insmod", "/lib/absent.ko"))
        assert isinstance(error, PreparationError)
        assert "insmod /lib/absent.ko ended with status" in str(error)
        assert not (tmp_path / "bad").exists()
