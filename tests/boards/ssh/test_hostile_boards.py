"""The probe on boards of busybox and dropbear alone, each hostile in its own way."""

# ruff: noqa: S108 - directories of a board, made for the test
from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from ssh_servers import NEEDED, BoardKind, Server, User, board
from whylate.boards import ssh
from whylate.boards.errors import BoardError
from whylate.boards.ssh import SshBoard
from whylate.probe.binaries import probe_binary
from whylate.probe.client import Client

pytest_plugins = ["ssh_fixtures"]

NOEXEC = tuple((path, "mode=1777,noexec") for path in ("/run", "/tmp", "/dev/shm"))
NOBODY_ELSE = 4242
PRIVATE = "whylate-probe-0"
MINE = "whylate-probe-1000"

#: Starts a board of a kind that the test says.
Boards = Callable[[BoardKind], Server]


@pytest.fixture
def boards(tmp_path: Path, user: User) -> Iterator[Boards]:
    with ExitStack() as running:

        def begin(kind: BoardKind) -> Server:
            server = running.enter_context(board(tmp_path / "board", user, kind))
            user.know(server)
            return server

        yield begin


class Session:
    """A board as whylate uses it; what it told is kept."""

    def __init__(self, server: Server, user: str = "root") -> None:
        self.server = server
        self.board = SshBoard(server.url(user))
        self.shown: list[str] = []

    def speaks(self) -> list[str]:
        """Start the probe, hear it, and return where programs of its name lie meanwhile."""
        with closing(self.board.start_probe(self.shown.append).stream) as stream:
            welcome = Client(stream).hello()
            assert welcome.arch == platform.machine()
            files = self.files()
        assert not self.server.running(), "the probe and its guardian have gone"
        return files

    def files(self) -> list[str]:
        places = ("run", "tmp", "dev/shm", "var/tmp", "root", "home/me", "mnt", "data")
        inside = [self.server.path(f"/{place}") for place in places]
        return sorted(
            "/" + str(file.relative_to(self.server.path("/")))
            for place in inside
            if not place.is_symlink()
            for file in place.glob("whylate*/*")
        )

    def left(self) -> list[str]:
        """Close the board and return what is left of us."""
        self.board.close()
        root = self.server.path("/")
        return [str(file) for file in root.glob("*/whylate*")] + self.files()


@pytest.fixture
def name() -> str:
    return f"whylate-probe.{probe_binary(platform.machine()).sha256}"


def test_eleven_applets_and_a_read_only_root_are_enough(boards: Boards, name: str) -> None:
    session = Session(boards(BoardKind(applets=NEEDED)))
    assert session.speaks() == [f"/run/{PRIVATE}/{name}"]
    assert session.left() == []


def test_it_is_copied_once_and_found_again(boards: Boards, name: str) -> None:
    session = Session(boards(BoardKind()))
    session.speaks()
    assert [text for text in session.shown if "copying" in text]
    session.shown.clear()
    again = Session(session.server)
    assert again.speaks() == [f"/run/{PRIVATE}/{name}"]
    assert again.shown == [], "what a killed host left is as good"
    assert again.left() == []


@pytest.mark.parametrize("applets", [(), NEEDED], ids=["with sha256sum", "without"])
@pytest.mark.parametrize("damage", ["zeros", "cut off", "another program"])
def test_a_damaged_one_is_copied_anew(
    boards: Boards, name: str, applets: tuple[str, ...], damage: str
) -> None:
    session = Session(boards(BoardKind(applets=applets)))
    session.speaks()
    path = session.server.path(f"/run/{PRIVATE}/{name}")
    whole = path.read_bytes()
    other = b"#!/bin/sh\necho whylate-probe 0.0 protocol 1\nexit\n"
    path.write_bytes({"zeros": bytes(len(whole)), "cut off": whole[:100_000],
                      "another program": other.ljust(len(whole), b"#")}[damage])  # fmt: skip
    session.shown.clear()
    session.speaks()
    assert session.shown == [f"copying the probe to {session.board.name}"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == name.partition(".")[2]
    assert session.left() == []


def test_a_changed_one_is_found_by_its_hash_alone(boards: Boards, name: str) -> None:
    session = Session(boards(BoardKind()))
    session.speaks()
    path = session.server.path(f"/run/{PRIVATE}/{name}")
    # It runs, it has the size, and it answers as it should.
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    session.shown.clear()
    session.speaks()
    assert session.shown == [f"copying the probe to {session.board.name}"]


def test_directories_that_let_no_program_run_are_passed_over(boards: Boards, name: str) -> None:
    mounts = (*NOEXEC[:2], ("/dev/shm", "mode=1777"))
    session = Session(boards(BoardKind(applets=NEEDED, mounts=mounts)))
    assert session.speaks() == [f"/dev/shm/{PRIVATE}/{name}"]
    assert session.left() == []


def test_a_user_who_is_not_root_has_a_directory_too(boards: Boards, name: str) -> None:
    session = Session(boards(BoardKind()), "me")
    assert session.speaks() == [f"/tmp/{MINE}/{name}"]
    assert session.server.path(f"/tmp/{MINE}").stat().st_mode & 0o777 == 0o700
    assert session.left() == []


@pytest.mark.parametrize("trap", ["directory", "open directory", "link", "file"])
def test_what_somebody_planted_is_never_run(boards: Boards, name: str, trap: str) -> None:
    mounts = (("/tmp", "mode=1777"), ("/dev/shm", "mode=1777"))
    server = boards(BoardKind(mounts=mounts))
    tmp, planted = server.path("/tmp"), server.path(f"/tmp/{MINE}")
    owner = 1000 if trap == "open directory" else NOBODY_ELSE
    target = planted if trap != "link" else tmp / "theirs"
    if trap == "file":
        target.write_text("")
    else:
        target.mkdir()
        target.chmod(0o777 if trap == "open directory" else 0o700)
        evil = target / name
        evil.write_text("#!/bin/sh\n: >/tmp/ran\n")
        evil.chmod(0o777)
    os.chown(target, owner, owner)
    if trap == "link":
        os.chown(target, 1000, 1000)
        planted.symlink_to("theirs")
        os.chown(planted, NOBODY_ELSE, NOBODY_ELSE, follow_symlinks=False)
    session = Session(server, "me")
    assert f"/dev/shm/{MINE}/{name}" in session.speaks()
    assert not (tmp / "ran").exists()
    session.board.close()
    assert planted.is_symlink() or planted.exists(), "what is not ours stays"


def test_a_directory_where_others_could_move_ours_is_not_used(boards: Boards, name: str) -> None:
    mounts = (("/tmp", "mode=777"), ("/dev/shm", "mode=1777"))
    session = Session(boards(BoardKind(mounts=mounts)), "me")
    assert session.speaks() == [f"/dev/shm/{MINE}/{name}"]


def test_a_link_is_judged_by_the_directory_it_leads_to(boards: Boards, name: str) -> None:
    server = boards(BoardKind(mounts=(("/data", "mode=1777"), ("/dev/shm", "mode=755"))))
    # The root is read-only from inside; from here its file system is as it was.
    root = server.log.parent / "root"
    (root / "tmp").rmdir()
    (root / "tmp").symlink_to("data")
    session = Session(server, "me")
    assert session.speaks() == [f"/data/{MINE}/{name}"]
    assert session.left() == []


def test_without_sha256sum_a_file_that_is_cut_off_is_seen_by_its_size(boards: Boards) -> None:
    server = boards(BoardKind(applets=NEEDED))
    words = ["sh", "-c", ssh._PUT, "whylate", "/run/file", "10", "0" * 64, "644", "abc"]
    assert SshBoard(server.url()).run(words, data=b"short").status == 1
    assert not list(server.path("/run").iterdir())
    assert SshBoard(server.url()).run(words, data=b"0123456789").status == 0


def test_a_directory_without_room_is_passed_over(boards: Boards, name: str) -> None:
    mounts = (("/run", "mode=755,size=512k"), ("/tmp", "mode=1777"))
    session = Session(boards(BoardKind(applets=NEEDED, mounts=mounts)))
    assert session.speaks() == [f"/tmp/{PRIVATE}/{name}"]
    assert session.left() == []


def test_without_a_place_root_mounts_one_that_nobody_sees(boards: Boards) -> None:
    session = Session(boards(BoardKind(mounts=NOEXEC)))
    mounts = Path(f"/proc/{session.server.first()}/mounts")
    assert session.speaks() == []
    assert session.shown == [f"sending the probe to {session.board.name}, into memory"]
    assert "whylate" not in mounts.read_text()
    assert session.left() == []


def test_without_a_place_perl_keeps_it_in_memory(boards: Boards) -> None:
    kind = BoardKind(applets=NEEDED, mounts=NOEXEC, programs=("/usr/bin/perl",))
    session = Session(boards(kind), "me")
    assert session.speaks() == []
    assert session.left() == []


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no python3 of the system's")
def test_without_a_place_python_keeps_it_in_memory(boards: Boards) -> None:
    real = Path("/usr/bin/python3").resolve()
    kind = BoardKind(applets=NEEDED, mounts=NOEXEC, programs=(str(real),))
    server = boards(kind)
    root = server.log.parent / "root"
    unused = shutil.ignore_patterns("__pycache__", "test", "config-*", "*.so")
    shutil.copytree(f"/usr/lib/{real.name}", root / "usr/lib" / real.name, ignore=unused)
    (root / "usr/bin/python3").symlink_to(real.name)
    session = Session(server, "me")
    assert session.speaks() == []
    assert session.left() == []


def test_without_any_way_it_says_what_was_tried(boards: Boards) -> None:
    session = Session(boards(BoardKind(applets=NEEDED, mounts=NOEXEC)))
    with pytest.raises(BoardError) as failed:
        session.speaks()
    text = str(failed.value)
    for place in ("/run", "/tmp", "/dev/shm"):
        assert f"{place} lets no program run" in text
    assert "/var/tmp cannot be written to" in text
    assert text.isprintable()
    assert session.left() == []


def test_a_board_for_which_there_is_no_probe(boards: Boards) -> None:
    server = boards(replace(BoardKind(), applets=NEEDED))
    uname = server.log.parent / "root" / "bin" / "uname"
    uname.unlink()
    uname.write_text("#!/bin/sh\necho mips\n")
    uname.chmod(0o755)
    session = Session(server)
    with pytest.raises(BoardError, match="there is no probe for 'mips'"):
        session.speaks()
    assert session.left() == []


def test_a_board_whose_shell_has_nothing(boards: Boards) -> None:
    session = Session(boards(BoardKind(applets=("cat",), mounts=NOEXEC)))
    with pytest.raises(BoardError, match=r"no probe for ''|its shell did not do"):
        session.speaks()
