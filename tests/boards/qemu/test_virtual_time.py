"""Virtual boards in virtual time: a run is the same run again, whatever the host does meanwhile."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import starts
from virtual_time_runs import WHYLATE, measure, result, start
from waiting import came_true
from whylate.recording.store.journal import NAME

pytestmark = pytest.mark.qemu


@pytest.fixture(autouse=True)
def own_boards(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever uses the virtual boards of this machine meanwhile is not disturbed."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path_factory.mktemp("b")))


def diff(*words: str) -> tuple[int, dict[str, Any]]:
    done = starts.run(
        [WHYLATE, "diff", "--json", *words], capture_output=True, check=False, timeout=60
    )
    return done.returncode, json.loads(done.stdout)


def busy_host(directory: Path) -> Path:
    """Build the library that takes time from QEMU's threads where it hurts most."""
    library = directory / "busy_host.so"
    source = Path(__file__).with_name("busy_host.c")
    command = ["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    starts.run([*command, "-o", library, source], check=True, timeout=60)
    return library


def test_a_run_repeats_to_the_nanosecond_though_its_reader_is_stopped(tmp_path: Path) -> None:
    # Where a load only computes, the warm-up alone takes the host several seconds.
    board = ("virt-arm64", "--smp", "1", "--for", "300ms", "--load", "timer")
    first = measure(tmp_path / "a", *board)
    again = start(tmp_path / "b", *board)
    journal = tmp_path / "b" / NAME
    # The recording is open: the run has begun, or is about to.
    assert came_true(lambda: journal.exists() and journal.stat().st_size, 60)
    os.kill(again.pid, signal.SIGSTOP)
    time.sleep(2)
    assert again.poll() is None
    os.kill(again.pid, signal.SIGCONT)
    second = result(again)
    assert first["state"] == second["state"] == "complete"
    assert (first["expected"], first["dropped"]) == (300, 0)
    assert first["samples_sha256"] == second["samples_sha256"]
    assert diff(str(tmp_path / "a"), str(tmp_path / "b"))[0] == 0


@pytest.mark.realtime
@pytest.mark.parametrize("cpus", [1, 2])
def test_a_host_that_takes_the_cpu_from_qemu_s_threads_changes_nothing(
    cpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["virt-arm64", "--smp", str(cpus), "--for", "100ms", "--load", f"timer:{cpus}"]
    # With two CPUs a run takes minutes: that with one has the recorder.
    words += ["--no-recorder"] if cpus == 2 else []
    quiet = measure(tmp_path / "a", *words)
    monkeypatch.setenv("LD_PRELOAD", str(busy_host(tmp_path)))
    busy = measure(tmp_path / "b", *words)
    assert quiet["state"] == busy["state"] == "complete"
    assert quiet["samples_sha256"] == busy["samples_sha256"]


def test_a_run_without_the_right_to_a_real_time_priority_says_so(tmp_path: Path) -> None:
    without = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
    words = ("virt-arm64", "--smp", "1", "--for", "10ms")
    other = result(start(tmp_path / "a", *words, wrapper=without))
    assert other["state"] == "complete"
    assert "unsteady" in [warning["code"] for warning in other["warnings"]]


def test_another_start_phase_is_another_run_and_diff_says_where_they_part(tmp_path: Path) -> None:
    done = start(tmp_path / "p", "virt-arm64", "--smp", "1", "--for", "300ms", "--phases", "2")
    runs = result(done)["runs"]
    assert [run["phase_ns"] for run in runs] == [0, 500_000]
    assert runs[0]["seed"] + 1 == runs[1]["seed"]
    status, document = diff(str(tmp_path / "p/phase-0"), str(tmp_path / "p/phase-1"))
    assert status == 1
    names = {fact["name"] for fact in document["differing_facts"]}
    assert {"plan: seed", "plan: phase_ns"} <= names
    parting = document["partings"][0]
    assert parting["at"]["first_latency_ns"] != parting["at"]["second_latency_ns"]


def test_ten_kilohertz_over_the_output_port_lose_no_sample(tmp_path: Path) -> None:
    other = measure(
        tmp_path / "a", "virt-arm64", "--smp", "1", "--for", "500ms", "--interval", "100us"
    )
    assert other["expected"] == other["seen"] + other["overrun"] == 5_000
    assert other["dropped"] == 0


# A load that only computes starves the other CPU where turns are not fair, but takes long.
@pytest.mark.parametrize(("board", "load"), [("virt-arm64-rt", "memory:2"), ("pc", "timer:2")])
def test_both_cpus_of_a_board_get_their_turns_under_load(
    board: str, load: str, tmp_path: Path
) -> None:
    words = (board, "--smp", "2", "--for", "100ms", "--load", load, "--no-recorder")
    first, second = measure(tmp_path / "a", *words), measure(tmp_path / "b", *words)
    assert first["samples_sha256"] == second["samples_sha256"]
    for cpu in first["per_cpu"]:
        assert cpu["expected"] == cpu["seen"] + cpu["overrun"] == 100
        # A CPU that is starved wakes only when the other one sleeps.
        assert cpu["seen"] > 80


def test_a_load_that_cannot_work_there_is_refused_and_the_board_is_off(tmp_path: Path) -> None:
    done = starts.run(
        [WHYLATE, "measure", "virt-arm64", "--virtual-time", "--smp", "1", "--for", "1s",
         "--load", "disk", "-o", str(tmp_path / "r")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3
    assert "load disk" in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("board", ["local", "raspi3b"])
def test_a_board_without_virtual_time_says_so(board: str, tmp_path: Path) -> None:
    done = starts.run(
        [WHYLATE, "measure", board, "--virtual-time", "-o", str(tmp_path / "r")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "has no virtual time" in done.stderr


def test_a_host_that_is_killed_leaves_no_board_running(tmp_path: Path) -> None:
    process = start(tmp_path / "r", "virt-arm64", "--smp", "1", "--for", "60s", "--load", "memory")
    pidfile = Path(os.environ["WHYLATE_RUN"]) / "virt-arm64" / "pid"
    deadline = time.monotonic() + 60
    while not pidfile.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    board = int(pidfile.read_text())
    time.sleep(1)
    process.kill()
    process.communicate()
    while Path(f"/proc/{board}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{board}").exists()


def test_a_known_cause_acts_in_a_run_and_what_it_did_is_kept(tmp_path: Path) -> None:
    other = measure(
        tmp_path / "r", "pc", "--smp", "1", "--for", "500ms", "--fault",
        "irqs-off size_us=400 period_us=20000 jitter_us=5000 phase_us=0",
    )  # fmt: skip
    (log,) = json.loads((tmp_path / "r/faults.json").read_text())
    assert log["fault"]["name"] == "irqs-off"
    lengths = [length for _, length, _ in log["events"]]
    assert len(lengths) > 20
    assert min(lengths) >= 400_000
    # A stall of 0.4 ms every 20 ms or so catches some of those that come every millisecond.
    assert 40_000 < other["latency_ns"]["max"]["value"] < 600_000


def test_a_cause_that_a_board_cannot_have_is_refused(tmp_path: Path) -> None:
    done = starts.run(
        [WHYLATE, "measure", "virt-arm64", "--virtual-time", "--fault", "slow-irq",
         "-o", str(tmp_path / "r")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "slow-irq does nothing on aarch64: it is for x86_64" in done.stderr
    assert not (tmp_path / "r").exists()


def test_on_riscv64_the_caller_of_what_enabled_interrupts_is_named(tmp_path: Path) -> None:
    """An interrupt's stack does not reach what it interrupted, whose registers do."""
    made = measure(
        tmp_path / "r", "virt-riscv64", "--smp", "1", "--for", "500ms", "--interval", "250us",
        "--threshold", "1ms", "--fault", "bulk-lock size_us=2780 period_us=20000",
    )  # fmt: skip
    assert made["state"] == "complete", made
    done = starts.run(
        [WHYLATE, "explain", str(tmp_path / "r"), "--json"], capture_output=True, check=False
    )
    answer = json.loads(done.stdout)
    assert answer["explained"], answer
    first = max(answer["causes"], key=lambda cause: float(cause["located_share"]))
    assert (first["cause"], first["detail"]) == ("interrupts disabled", "fault_main [bulk_lock]")
    assert first["located_share"] > 0.8
