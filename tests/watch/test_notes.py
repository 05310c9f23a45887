"""What a process that uses a board notes of it, and who reads that."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from watched_runs import finished

from small_disk import small_disk
from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.notes import (
    MOST_RUNS,
    forget_run,
    noted_run,
    read_holder,
    read_name,
    read_runs,
    read_uses,
    state_name_of,
)
from whylate.boards.ready import held
from whylate.boards.state import BoardLock, state_directory
from whylate.watch.boards import MOST_BOARDS, Watch, places_in_use, used_places
from whylate.watch.card import board_card
from whylate.watch.terminal import render_boards


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    return tmp_path / "run" / "local"


def test_a_use_is_noted_while_it_lasts(state: Path) -> None:
    assert used_places() == []
    with held(LocalBoard(), notify_nobody):
        [use] = read_uses(state)
        assert (use.board, use.pid, use.recording) == ("local", os.getpid(), None)
        assert [place.name for place in places_in_use()] == ["local"]
    assert read_uses(state) == []
    assert places_in_use() == []
    assert read_name(state) == "local"
    assert [place.name for place in used_places()] == ["local"]


def test_a_board_in_use_is_seen_beside_many_others() -> None:
    for number in range(MOST_BOARDS + 6):
        directory = state_directory(f"board-{number}")
        (directory / "board.json").write_bytes(msgspec.json.encode({"board": directory.name}))
    with held(LocalBoard(), notify_nobody):
        assert [place.name for place in places_in_use()] == ["local"]
        watch = Watch(used_places)
        views = watch.poll()
        assert [view.name for view in views][:2] == ["local", "board-0"]
        assert (len(views), watch.left_out) == (MOST_BOARDS, 7)
        shown = render_boards([board_card(view) for view in views], 200, 1000, watch.left_out)
        assert "7 more boards" in shown[-1].plain


def test_a_run_is_noted_while_it_lasts_and_remembered_after_it(state: Path, tmp_path: Path) -> None:
    with held(LocalBoard(), notify_nobody):
        with noted_run("local", tmp_path / "one"):
            assert read_uses(state)[0].recording == str(tmp_path / "one")
            finished(tmp_path / "one", [1000] * 100)
        with noted_run("local", tmp_path / "refused"):
            pass
        assert read_uses(state)[0].recording is None
    assert read_runs(state) == [str(tmp_path / "one")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_note_that_cannot_be_written_does_not_leave_a_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 64 << 10) as disk:
        monkeypatch.setenv("WHYLATE_RUN", str(disk))
        directory = state_directory("local")
        with held(LocalBoard(), notify_nobody):
            with noted_run("local", tmp_path / "one"):
                assert read_uses(directory)[0].recording == str(tmp_path / "one")
                with contextlib.suppress(OSError), (disk / "full").open("wb", 0) as file:
                    while file.write(b"x" * 4096):
                        pass
            assert read_uses(directory) == [], "run 1 is not in progress any more"
            assert [place.name for place in used_places()] == ["local"]
            (disk / "full").unlink()
            with noted_run("local", tmp_path / "two"):
                assert read_uses(directory)[0].recording == str(tmp_path / "two")


def test_notes_that_were_half_written_are_removed_once_they_are_old(state: Path) -> None:
    directory = state_directory("local")
    names = ["use-7.json.0a1b2c3d.partial", "runs.json.0a1b2c3d.partial", "disk.qcow2.partial"]
    for name in names:
        (directory / name).touch()
    with held(LocalBoard(), notify_nobody):
        assert all((state / name).exists() for name in names), "another process may write them"
    for name in names:
        os.utime(directory / name, (0, 0))
    with held(LocalBoard(), notify_nobody):
        assert [name for name in names if (state / name).exists()] == names[2:]


def test_recordings_that_were_removed_are_left_out(state: Path, tmp_path: Path) -> None:
    with held(LocalBoard(), notify_nobody):
        for name in ("kept", "removed"):
            with noted_run("local", tmp_path / name):
                finished(tmp_path / name, [1000] * 100)
        shutil.rmtree(tmp_path / "removed")
        assert read_runs(state) == [str(tmp_path / "kept")]
        [view] = Watch(used_places).poll()
        assert view.last is not None
        assert (view.last.result, view.last.recording) == ("complete", str(tmp_path / "kept"))
        forget_run("local", tmp_path / "removed")
        assert b"removed" not in (state / "runs.json").read_bytes()
        # Many of them do not push out those that are there.
        for number in range(MOST_RUNS):
            made = tmp_path / str(number)
            made.mkdir()
            with noted_run("local", made):
                (made / "manifest.json").touch()
            shutil.rmtree(made)
        assert read_runs(state) == [str(tmp_path / "kept")]


def test_a_run_beside_no_noted_use_leaves_no_note(tmp_path: Path, state: Path) -> None:
    with noted_run("local", tmp_path / "one"):
        assert not state.exists()


def test_the_use_of_a_process_that_was_killed_is_over(state: Path) -> None:
    script = (
        "from whylate.boards.local import LocalBoard\n"
        "from whylate.boards.ready import held\n"
        "with held(LocalBoard(), print):\n"
        "    print('held', flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        [use] = read_uses(state)
        assert use.pid == process.pid
        process.kill()
        process.wait()
        assert read_uses(state) == []
    # Its number may be another process's by now.
    note = state / f"use-{os.getpid()}.json"
    note.write_bytes(msgspec.json.encode(msgspec.structs.replace(use, pid=os.getpid())))
    assert read_uses(state) == []
    with held(LocalBoard(), notify_nobody):
        assert len(read_uses(state)) == 1
    assert list(state.glob("use-*")) == []


def test_a_holder_is_named_by_its_verb() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "whylate", "board", "run", "local", "--", "sleep", "60"]
    ) as process:
        try:
            holder = read_holder(process.pid)
            while holder is not None and holder.words[:1] != ("board",):
                holder = read_holder(process.pid)
            assert holder is not None
            assert holder.words == ("board", "run", "local", "--", "sleep", "60")
        finally:
            process.terminate()
    assert read_holder(2**22 + 1) is None


def test_the_owner_of_a_lock_is_seen_without_touching_it(state: Path) -> None:
    directory = state_directory("board7")
    lock = BoardLock(directory, "board7")
    assert lock.seen_owner() is None
    with lock:
        assert f"process {os.getpid()} of user {os.getuid()}" in str(lock.seen_owner())
    assert lock.seen_owner() is None
    del state


@pytest.mark.parametrize(
    "name", ["ssh://root@board7:2222", "ssh://[::1]", "x" * 90, "../..", "\udcff", "a b"]
)
def test_any_name_has_a_directory_of_its_own(name: str) -> None:
    directory = state_directory(state_name_of(name))
    assert directory.is_dir()
    assert directory != state_directory(state_name_of(name + "1"))


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[" * 10_000, b'{"board": 7}', b"\xff" * 2_000_000]
)
def test_a_note_that_is_damaged_is_none(content: bytes, state: Path) -> None:
    with held(LocalBoard(), notify_nobody):
        pass
    for name in (f"use-{os.getpid()}.json", "runs.json", "power.json", "image.json"):
        (state / name).write_bytes(content)
    seen = Watch(used_places).poll()
    assert [(view.name, view.uses, view.last) for view in seen] == [("local", [], None)]
