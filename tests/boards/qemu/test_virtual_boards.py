"""Virtual boards in real time: booted, read, measured, crashed, and left as they were."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.open import open_board
from whylate.boards.qemu import machine
from whylate.boards.qemu.board import BOOTS, QemuBoard, VirtualOptions
from whylate.boards.qemu.machine import BootAgainError
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.probe.client import Client, Stream
from whylate.recording.manifest import Manifest
from whylate.recording.plan import LoadPlan, RunPlan, Setting
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.summary.summarize import summarize
from whylate.wire import messages

pytestmark = pytest.mark.qemu
SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def own_boards(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path_factory.mktemp("b")))


def request(
    seconds: float = 1.0,
    interval_us: int = 1000,
    loads: tuple[LoadPlan, ...] = (),
    settings: tuple[Setting, ...] = (),
) -> RunPlan:
    return RunPlan(
        workload=Wakeup(duration_ns=int(seconds * SECOND), interval_ns=interval_us * 1000),
        loads=list(loads),
        settings=list(settings),
    )


def run(board: QemuBoard, plan: RunPlan, directory: Path) -> Manifest:
    return measure(board, plan, directory, Quiet())


@pytest.fixture
def arm64() -> Iterator[QemuBoard]:
    """Return virt-arm64, booted."""
    with ready(QemuBoard(virtual_board("virt-arm64")), notify_nobody) as board:
        yield board


def facts_of(manifest: Manifest) -> dict[str, object]:
    return {fact.name: fact.value for fact in manifest.facts}


@pytest.mark.parametrize("name", ["pc", "raspi3b", "sabrelite", "virt-riscv64"])
def test_a_board_boots_tells_its_facts_and_is_measured(name: str, tmp_path: Path) -> None:
    with ready(QemuBoard(virtual_board(name)), notify_nobody) as board:
        manifest = run(board, request(), tmp_path / "r")
        assert board.power.is_on()
    assert not board.power.is_on()
    facts = facts_of(manifest)
    assert facts["hostname"] == name
    assert sum(cpu.expected for cpu in manifest.cpus) == 1000 * board.cpus
    assert not [cpu for cpu in manifest.cpus if cpu.dropped]
    console = (tmp_path / "r/console.log").read_bytes()
    assert b"Linux version" in console
    assert b"whylate: ready" in console
    if name == "sabrelite":
        assert facts["l2_controller"] == "L2C-310"
        assert facts["l2_ways"] == 8
    if name == "raspi3b":
        # Its frames went over the console, and are not what the console printed.
        assert b"\0" not in console


@pytest.mark.parametrize(("fails", "booted"), [(1, True), (BOOTS, False)])
def test_a_board_whose_qemu_fails_while_it_boots_is_booted_again(fails: int, booted: bool) -> None:
    board = QemuBoard(virtual_board("pc"))
    shown: list[str] = []

    def notify(text: str) -> None:
        shown.append(text)
        if text == "booting pc" and shown.count(text) <= fails:
            pid = board.machine.pid
            assert pid is not None
            # As a failed assertion of its own ends it.
            os.kill(pid, signal.SIGABRT)

    with pytest.raises(BootAgainError) if not booted else nullcontext(), ready(board, notify):
        assert board.power.is_on()
    assert shown.count("booting pc") == min(fails + 1, BOOTS)
    assert shown.count("QEMU failed while pc booted: trying again") == min(fails, BOOTS - 1)
    assert not board.power.is_on()


def test_a_board_of_which_a_cpu_stands_still_is_booted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its QEMU is stopped, after its kernel has said what it says of such a CPU."""
    monkeypatch.setattr(machine, "STALLED_S", 0.5)
    board = QemuBoard(virtual_board("pc"))
    shown: list[str] = []
    stopped: list[int] = []

    def notify(text: str) -> None:
        shown.append(text)
        if text == "booting pc" and not stopped:
            pid = board.machine.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
            with board.machine.console_log.open("ab") as log:
                log.write(b"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\r\n")

    with ready(board, notify):
        assert board.machine.pid not in (None, *stopped)
    assert shown.count("booting pc") == 2
    assert shown.count("a CPU stalled while pc booted: trying again") == 1


def test_the_counters_of_virt_arm64_are_counted(arm64: QemuBoard, tmp_path: Path) -> None:
    facts = facts_of(run(arm64, request(0.2), tmp_path / "r"))
    assert facts["pmu_driver"] == "armv8_pmuv3"
    assert any(char in "123456789" for char in str(facts["pmu_cycles"]))


def test_ten_kilohertz_lose_no_sample_and_another_run_follows(
    arm64: QemuBoard, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        manifest = run(arm64, request(2.0, interval_us=100), tmp_path / name)
        for cpu in manifest.cpus:
            assert (cpu.expected, cpu.dropped) == (20_000, 0)


def test_files_commands_and_their_ends_are_a_board_s_own(arm64: QemuBoard) -> None:
    data = bytes(range(256)) * 40
    arm64.put(data, "/root/a file", 0o600)
    digest = arm64.run(["sha256sum", "/root/a file"]).output.split()[0]
    assert digest.decode() == hashlib.sha256(data).hexdigest()
    assert arm64.run(["sh", "-c", "echo out; echo err >&2; exit 7"]).status == 7
    assert arm64.run(["printf", "%s", "; rm -rf /"]).output == b"; rm -rf /"
    with pytest.raises(BoardError, match="longer than"):
        arm64.run(["sleep", "60"], timeout_s=1)


def line_of(stream: Stream) -> str:
    """Return the first line that comes, within half a minute."""
    line, deadline = b"", time.monotonic() + 30
    while not line.endswith(b"\n"):
        assert select.select([stream.fileno()], [], [], deadline - time.monotonic())[0], line
        line += stream.read(1)
    return line.decode().strip()


def test_the_next_program_gets_the_port_once_the_former_one_has_ended(arm64: QemuBoard) -> None:
    """A busy board may be late to see that its host has hung up."""
    with closing(arm64.stream(["sh", "-c", "echo $$; exec sleep 3"])) as former:
        process = line_of(former)
    with closing(arm64.stream(["sh", "-c", "read word; echo $word"])) as stream:
        assert arm64.run(["test", "-d", f"/proc/{process}"]).status != 0
        stream.write(b"word\n")
        assert line_of(stream) == "word"


def test_a_board_that_somebody_has_is_refused_by_name(arm64: QemuBoard) -> None:
    other = QemuBoard(virtual_board("virt-arm64"))
    with pytest.raises(BoardBusyError, match=r"process [0-9]+ of user"):
        other.hold(notify_nobody)
    other.close()
    assert arm64.power.is_on()


def test_a_board_that_was_on_stays_on() -> None:
    first = QemuBoard(virtual_board("virt-arm64"))
    first.stay_on()
    with ready(first, notify_nobody):
        pass
    try:
        with ready(open_board("virt-arm64"), notify_nobody) as again:
            assert again.run(["true"]).status == 0
        assert first.power.is_on()
    finally:
        first.power.off()


def test_a_panic_turns_the_run_into_no_verdict_and_keeps_its_backtrace(
    arm64: QemuBoard, tmp_path: Path
) -> None:
    crash = LoadPlan("cmd", 1, "sh -c 'sleep 3; echo c >/proc/sysrq-trigger'")
    manifest = run(arm64, request(20.0, loads=(crash,)), tmp_path / "r")
    assert manifest.state == "cut"
    panics = [crash for crash in manifest.crashes if crash.fatal]
    assert panics
    assert any("sysrq" in frame for frame in panics[0].backtrace)
    recording = open_recording(tmp_path / "r")
    trust = summarize(recording.samples, recording.manifest, "r").trust
    assert trust.verdict == "no verdict"
    assert any(reason.startswith("the board crashed: ") for reason in trust.reasons)
    assert any(len(cpu_series.activation) for cpu_series in recording.samples)


def test_settings_are_put_back_when_the_line_is_cut(arm64: QemuBoard) -> None:
    path = "/proc/sys/kernel/sched_rt_runtime_us"
    before = arm64.run(["cat", path]).output
    started = arm64.start_probe(notify_nobody)
    with closing(started.stream) as stream:
        client = Client(stream)
        client.hello()
        client.call(messages.Setting(path, "900000"))
        assert arm64.run(["cat", path]).output == b"900000\n"
    deadline = time.monotonic() + 5
    while arm64.run(["cat", path]).output != before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert arm64.run(["cat", path]).output == before


def test_a_board_that_never_boots_is_reported_with_its_last_words() -> None:
    board = QemuBoard(virtual_board("virt-arm64"), VirtualOptions(kernel_args=("rdinit=/none",)))
    with (
        pytest.raises(BoardError, match=r"before the board was up: .*[Pp]anic"),
        ready(board, notify_nobody),
    ):
        pass
    assert not board.power.is_on()
