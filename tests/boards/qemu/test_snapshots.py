"""Runs in virtual time that are resumed from a snapshot: each is the run that a boot would be."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import starts
from virtual_time_runs import WHYLATE, measure
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.qemu import planned, snapshots
from whylate.boards.qemu.arguments import HANDOVER_BYTES, Start, arguments
from whylate.boards.qemu.machine import Machine
from whylate.boards.qemu.planned import PlannedStart, takes_handover, write_handover
from whylate.boards.qemu.qmp import Qmp, QmpError
from whylate.boards.qemu.snapshots import Snapshots
from whylate.files import try_lock
from whylate.lab.cache import cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.image import Image, is_fetched
from whylate.lab.initramfs import packed
from whylate.lab.qemu import Qemu

QEMU = Qemu(("qemu",), (10, 0))
IMAGE = Image(Path("/k/vmlinuz"), Path("/k/initrd"), None, "6.1", "0" * 64)
FILES = [("/whylate/plan", b"plan", 0o644)]


# -- QEMU's command


def words(start: Start) -> list[str]:
    return arguments(virtual_board("pc"), QEMU, IMAGE, IMAGE.initrd, start)


def start_in(directory: Path, *, memory: Path | None = None, stops: bool = False) -> Start:
    return Start(
        cpus=1,
        directory=directory,
        output=directory / "port",
        handover=directory / "handover",
        memory=memory,
        stops=stops,
        control=directory / "control",
    )


def test_a_run_maps_the_memory_of_a_snapshot_privately(tmp_path: Path) -> None:
    resumed = words(start_in(tmp_path, memory=tmp_path / "memory"))
    (memory,) = [word for word in resumed if f"mem-path={tmp_path / 'memory'}" in word]
    assert memory.endswith(",share=off")
    assert resumed[resumed.index("-incoming") + 1] == "defer"
    taking = words(start_in(tmp_path, memory=tmp_path / "memory", stops=True))
    assert "panic=pause" in taking
    assert "-incoming" not in taking
    assert [word for word in taking if word.endswith(",share=on")]


def test_a_boot_has_the_same_devices_and_no_monitor(tmp_path: Path) -> None:
    booted = words(start_in(tmp_path))
    resumed = words(start_in(tmp_path, memory=tmp_path / "memory"))
    devices = [words[at + 1] for words in (booted, resumed) for at, word in enumerate(words)
               if word == "-device"]  # fmt: skip
    assert devices[: len(devices) // 2] == devices[len(devices) // 2 :]
    assert "panic=none" in booted
    assert "-qmp" not in booted


@pytest.mark.parametrize(
    ("board", "kernel_args", "init", "taken"),
    [
        ("pc", (), "", True),
        ("virt-arm64-rt", ("isolcpus=1", "quiet"), "", True),
        ("virt-riscv64", (), "", False),
        ("sabrelite", (), "", False),
        ("pc", ("lockdown=integrity",), "", False),
        ("pc", ("pci=off",), "", False),
        ("pc", (), "/whylate/init", False),
    ],
)
def test_the_files_of_a_run_are_in_the_image_where_the_board_may_not_read_shared_memory(
    board: str, kernel_args: tuple[str, ...], init: str, taken: bool
) -> None:
    image = Image(IMAGE.kernel, IMAGE.initrd, None, "6.1", "0" * 64, init=init)
    assert takes_handover(virtual_board(board), image, kernel_args) is taken


def test_the_files_of_a_run_begin_with_their_length(tmp_path: Path) -> None:
    write_handover(tmp_path / "handover", FILES)
    data = (tmp_path / "handover").read_bytes()
    assert len(data) == HANDOVER_BYTES
    (length,) = struct.unpack_from("<Q", data)
    assert data[8 : 8 + length] == packed(FILES)


def test_more_files_than_a_board_can_be_handed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "HANDOVER_BYTES", 1 << 20)
    with pytest.raises(BoardError, match="2 MiB: in virtual time they may have 1 MiB"):
        write_handover(tmp_path / "handover", [("/large", bytes(2 << 20), 0o644)])


# -- the monitor


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[tuple[Path, list[bytes]]]:
    """Yield the socket of a monitor, and what it says: an answer for each command."""
    path, answers = tmp_path / "control", [b'{"QMP": {}}', b'{"return": {}}']
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(answers.pop(0) + b"\n")
            while answers and lines.readline():
                connection.sendall(answers.pop(0) + b"\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield path, answers
    listener.close()


def test_events_between_a_command_and_its_answer_are_skipped(
    monitor: tuple[Path, list[bytes]],
) -> None:
    path, answers = monitor
    answers.append(b'{"event": "RESUME"}\n{"return": {"status": "running"}}')
    with Qmp(path, 10, lambda: True) as qmp:
        assert qmp.run("query-status") == {"status": "running"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b'{"error": {"desc": "no such thing"}}', "cont: no such thing"),
        (b"garbage", "does not answer"),
        (b"", "does not answer"),
    ],
)
def test_what_a_monitor_refuses_is_one_line(
    answer: bytes, why: str, monitor: tuple[Path, list[bytes]]
) -> None:
    path, answers = monitor
    answers.append(answer)
    with Qmp(path, 10, lambda: True) as qmp, pytest.raises(QmpError, match=why):
        qmp.run("cont")


def test_a_qemu_that_ends_before_it_listens_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(QmpError, match="QEMU ended"):
        Qmp(tmp_path / "control", 100, lambda: False)


# -- the snapshots that are kept


def kept(directory: Path, key: str, *, size: int = 1 << 20, used: float = 0.0) -> Path:
    here = directory / key
    here.mkdir(parents=True)
    (here / "memory").write_bytes(bytes(size))
    (here / "console.log").write_bytes(b"booted\n")
    (here / "state").touch()
    (here / "lock").touch()
    os.utime(here / "lock", (used, used))
    return here


def test_the_least_recently_used_are_removed_and_none_that_a_run_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "LIMIT_BYTES", 5 << 19)
    for used, key in enumerate(("read", "old", "new", "newest")):
        kept(tmp_path, key, used=used)
    here = Snapshots(tmp_path)
    with here.find("read") as snapshot:
        assert snapshot is not None
        assert snapshot.console == b"booted\n"
        os.utime(tmp_path / "read" / "lock", (0, 0))
        here._remove_old()
    assert [here.has(key) for key in ("read", "old", "new", "newest")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_one_that_is_being_removed_is_not_there(tmp_path: Path) -> None:
    (kept(tmp_path, "key") / "state").unlink()
    with Snapshots(tmp_path).find("key") as snapshot:
        assert snapshot is None
    with Snapshots(tmp_path).find("another") as snapshot:
        assert snapshot is None


def test_a_snapshot_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    here = Snapshots(tmp_path)
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert try_lock(lock)

    def make() -> None:
        kept(tmp_path, "key")
        os.close(lock)

    other = threading.Timer(0.3, make)
    other.start()
    here.create("key", never, tmp_path / "control", 60)
    assert here.has("key")
    other.join()


def test_one_that_takes_longer_than_a_boot_is_not_waited_for(tmp_path: Path) -> None:
    here = Snapshots(tmp_path)
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert try_lock(lock)
    here.create("key", never, tmp_path / "control", 0.1)
    assert not here.has("key")
    os.close(lock)


def never(directory: Path, memory: Path) -> list[str]:
    raise AssertionError((directory, memory))


def test_a_key_is_of_the_image_the_arguments_and_qemu(tmp_path: Path) -> None:
    program = tmp_path / "qemu"
    program.touch()
    here, qemu = Snapshots(tmp_path), Qemu((str(program),), (10, 0))
    keys = {here.key(qemu, ["image"]), here.key(qemu, ["image", "-smp"]), here.key(QEMU, ["image"])}
    os.utime(program, (1, 1))
    keys.add(here.key(qemu, ["image"]))
    assert len(keys) == 4
    assert here.key(qemu, ["image"]) in keys


class NeverStarted(Machine):
    """A machine whose QEMU is never started."""

    def start(self, command: Sequence[str], *, outlive: bool, console: bytes = b"") -> None:
        del command, outlive, console


def test_boards_whose_images_differ_have_different_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image that is built anew has the same files by name, and another hash."""
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "lab"))
    monkeypatch.delenv(planned.VARIABLE, raising=False)
    keys: list[str] = []

    def create(self: Snapshots, key: str, *rest: object) -> None:
        del self, rest
        keys.append(key)

    monkeypatch.setattr(Snapshots, "create", create)

    def keys_of(image: Image) -> set[str]:
        keys.clear()
        machine = NeverStarted(tmp_path)
        start = PlannedStart(virtual_board("pc"), QEMU, image, machine, ("turns",), 60)
        assert start.start(start_in(tmp_path), tmp_path / "handover", notify_nobody) == "booted"
        return set(keys)

    first, again = keys_of(IMAGE), keys_of(IMAGE)
    other = keys_of(replace(IMAGE, sha256="1" * 64))
    # The shared snapshot and that of the run have one name, in directories of their own.
    assert len(first) == 1
    assert first == again
    assert len(other) == 1
    assert first != other


# -- boards


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the snapshots of this test alone, of the images of all."""
    for name in ("pc", "virt-arm64"):
        if not is_fetched(virtual_board(name)):
            pytest.skip(f"the image of {name} is not here: make lab")
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path_factory.mktemp("b")))
    lab = tmp_path_factory.mktemp("lab")
    for path in cache_directory().iterdir():
        if path.name != "snapshots":
            (lab / path.name).symlink_to(path)
    monkeypatch.setenv("WHYLATE_LAB", str(lab))
    return lab / "snapshots"


def came_up(recording: Path) -> str:
    facts = json.loads((recording / "manifest.json").read_text())["facts"]
    (value,) = [fact["value"] for fact in facts if fact["name"] == "came up"]
    return str(value)


def run(directory: Path, *more: str, cpus: int = 1, board: str = "virt-arm64") -> dict[str, Any]:
    words = (board, "--smp", str(cpus), "--for", "20ms", "--no-recorder", *more)
    made = measure(directory, *words)
    assert made["state"] == "complete"
    return made


@pytest.mark.qemu
@pytest.mark.realtime
@pytest.mark.parametrize(
    ("board", "cpus", "load"),
    [("virt-arm64", 1, ()), ("virt-arm64", 4, ("timer",)), ("pc", 2, ("timer",))],
)
def test_a_run_is_the_same_after_a_boot_of_its_own(
    board: str, cpus: int, load: tuple[str, ...], own: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    words = [word for one in load for word in ("--load", one)]
    shared = "a" if load else "ab"
    made = [run(tmp_path / name, *words, cpus=cpus, board=board) for name in shared]
    assert {came_up(tmp_path / name) for name in shared} == {"resumed from a snapshot"}
    assert len(list(own.glob("*/state"))) == 1
    monkeypatch.setenv("WHYLATE_SNAPSHOTS", "0")
    made.append(run(tmp_path / "c", *words, cpus=cpus, board=board))
    assert came_up(tmp_path / "c") == "resumed from a snapshot of its own"
    assert len(list(own.glob("*/state"))) == 1
    assert len({manifest["samples_sha256"] for manifest in made}) == 1


@pytest.mark.qemu
@pytest.mark.realtime
def test_another_seed_is_another_run_of_the_same_snapshot(own: Path, tmp_path: Path) -> None:
    made = [run(tmp_path / seed, "--seed", seed)["samples_sha256"] for seed in "123"]
    assert len(set(made)) == 3
    assert len(list(own.glob("*/state"))) == 1


@pytest.mark.qemu
@pytest.mark.realtime
def test_a_damaged_snapshot_is_removed_and_the_board_boots_for_the_run(
    own: Path, tmp_path: Path
) -> None:
    first = run(tmp_path / "a")
    (state,) = own.glob("*/state")
    state.write_bytes(state.read_bytes()[:1000])
    done = starts.run(
        [WHYLATE, "measure", "--virtual-time", "-o", str(tmp_path / "b"), "virt-arm64", "--smp",
         "1", "--for", "20ms", "--no-recorder"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "no snapshot of virt-arm64" in done.stderr
    assert came_up(tmp_path / "b") == "resumed from a snapshot of its own"
    assert not state.exists()
    second = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert second["samples_sha256"] == first["samples_sha256"]


@pytest.mark.qemu
@pytest.mark.realtime
def test_the_console_of_a_resumed_board_has_its_boot(own: Path, tmp_path: Path) -> None:
    for name in "ab":
        run(tmp_path / name, "--kernel-arg", "loglevel=7")
    logs = [(tmp_path / name / "console.log").read_bytes() for name in "ab"]
    assert b"Run /init as init process" in logs[0]
    # The host ends a board when it has the results: how much more it prints varies.
    shorter, longer = sorted(logs, key=len)
    assert longer.startswith(shorter)
    assert time.time() > (own / "lock").stat().st_mtime
