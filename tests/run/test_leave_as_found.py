"""Killed at any moment, a run loses nothing that it wrote and leaves the board as it was."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import starts
from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.recording.store.journal import read_journal
from whylate.wire.messages import CpuStarted, Samples
from whylate.wire.samples import decode_samples

#: Of each a third; more with the variable.
KILLS = int(os.environ.get("WHYLATE_TEST_KILLS", "24"))
SETTINGS = {
    "/proc/sys/vm/swappiness": "11",
    "/sys/kernel/mm/transparent_hugepage/defrag": "never",
    "/proc/sys/vm/dirty_writeback_centisecs": "499",
}
#: Changed while the recorder is detached or attached.
EXPEDITED = Path("/sys/kernel/rcu_expedited")
MARK = "WHYLATE_TEST_RUN"

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="changing settings needs root"),
]


def marked(mark: str) -> dict[int, str]:
    """Return every process with our mark in its environment, and its name."""
    result = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes() and state != "Z":
                result[int(entry.name)] = (entry / "comm").read_text().strip()
        except (OSError, IndexError):
            continue
    return result


def start(directory: Path, mark: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "whylate", "measure", "--for", "60s", "--interval", "500us"]
    command += ["--load", "fork", "--load", "disk", "--load", "cmd:setsid sleep 1000"]
    for path, value in SETTINGS.items():
        command += ["--set", f"{path}={value}"]
    return subprocess.Popen(
        [*command, "-o", str(directory), *more],
        env={**os.environ, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def read_settings() -> dict[str, str]:
    return {path: in_force(Path(path).read_text().strip()) for path in SETTINGS}


def in_force(text: str) -> str:
    """Return a setting's value: where all choices are shown, the one in brackets."""
    return text.split("[")[1].split("]", maxsplit=1)[0] if "[" in text else text


def wait_until_as_found(before: dict[str, str], mark: str, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not marked(mark) and read_settings() == before:
            return
        time.sleep(0.05)
    assert read_settings() == before, "settings were not put back in time"
    assert not marked(mark), "processes are left"


def wait_for(path: Path, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def wait_for_samples(journal: Path, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if journal.exists() and any(written(journal).values()):
            return
        time.sleep(0.05)


def written(journal: Path) -> dict[int, int]:
    """Return the rows that lie in a journal for each CPU, read without the recovery."""
    frames, counts = read_journal(journal)
    started: dict[int, CpuStarted] = {}
    rows: dict[int, int] = {}
    for frame in frames:
        if frame.kind == CpuStarted.KIND:
            item = CpuStarted.unpack(frame.payload)
            started[item.cpu] = item
        elif frame.kind == Samples.KIND:
            block = Samples.unpack(frame.payload)
            decoded = decode_samples(block, started[block.cpu].interval_ns, 1 << 40)
            rows[block.cpu] = rows.get(block.cpu, 0) + decoded.activation.size
    assert counts.other_protocol == counts.oversized == 0
    assert counts.damaged == 0, "a journal may end inside a frame, but never hold a broken one"
    return rows


@pytest.fixture(scope="module")
def settings_before() -> Iterator[dict[str, str]]:
    before = read_settings()
    assert all(before[path] != value for path, value in SETTINGS.items())
    yield before
    for path, value in before.items():
        Path(path).write_text(value)


@pytest.mark.parametrize("victim", ["host", "probe", "both", "everything"])
def test_killed_at_random_moments(
    victim: str, tmp_path: Path, settings_before: dict[str, str]
) -> None:
    chance = random.Random(f"moments {victim}")
    kills = measured = 0
    wanted = KILLS // 3 + 1 if victim != "everything" else 3
    while kills < wanted:
        mark, directory = uuid.uuid4().hex, tmp_path / f"{victim}-{kills}"
        host = start(directory, mark)
        # From its start on, or within what goes on for ever: there a moment is like any other.
        latest_s = 0.8 if kills % 2 else 3.0
        if kills % 4 == 1:
            # However long facts, loads and the recorder take, some fall into the measuring.
            wait_for_samples(directory / "journal")
        elif kills % 4 == 3:
            wait_for(directory / "journal")
        time.sleep(chance.uniform(0.0, latest_s))
        if not kill(victim, host, mark):
            # There was no probe yet to be killed: another time.
            host.kill()
            host.wait()
            wait_until_as_found(settings_before, mark)
            continue
        kills += 1
        host.wait(30)
        if victim == "everything":
            # Not even a guardian is left: the next probe to start finds its log.
            mark = uuid.uuid4().hex
            command = [sys.executable, "-m", "whylate", "facts", "--json"]
            environment = {**os.environ, MARK: mark}
            starts.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        wait_until_as_found(settings_before, mark)
        measured += check_recording(directory)
    assert measured >= wanted // 4, "too few kills fell into the measuring"


def kill(victim: str, host: subprocess.Popen[bytes], mark: str) -> bool:
    """Kill with -9; False where the victim was not there."""
    names = marked(mark)
    probes = [pid for pid, name in names.items() if name == "whylate-probe"]
    pids = {"host": [host.pid], "probe": probes, "both": [*probes, host.pid]}
    pids["everything"] = [host.pid, *names]
    if victim != "host" and not probes:
        return False
    for pid in pids[victim]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return True


def check_recording(directory: Path) -> bool:
    """Whether samples had been recorded; the recording opens with all that was written."""
    if not directory.exists():
        return False
    journal = directory / "journal"
    rows = written(journal) if journal.exists() else None
    recording = open_recording(directory)
    assert recording.manifest.state in ("recovered", "cut")
    assert any(problem.fatal for problem in recording.manifest.problems)
    if rows is not None:
        for samples in recording.samples:
            assert samples.activation.size == rows.get(samples.cpu, 0)
    for account in recording.manifest.cpus:
        assert account.expected == account.seen + account.overrun + account.dropped
    assert not journal.exists()
    assert open_recording(directory).manifest == recording.manifest
    return bool(recording.samples and recording.samples[0].activation.size)


def test_killed_while_the_recorder_is_switched_grace_periods_are_no_longer_expedited(
    tmp_path: Path, settings_before: dict[str, str]
) -> None:
    if not EXPEDITED.exists() or EXPEDITED.read_text().strip() != "0":
        pytest.skip("this kernel expedites grace periods always, or never")
    mark = uuid.uuid4().hex
    host = start(tmp_path / "r", mark)
    wait_for_samples(tmp_path / "r" / "journal")
    # As the probe sets it, for a few milliseconds.
    EXPEDITED.write_text("1")
    assert kill("probe", host, mark)
    host.wait(30)
    wait_until_as_found(settings_before, mark)
    assert EXPEDITED.read_text().strip() == "0"


def test_a_run_that_still_goes_on_is_not_recovered(
    tmp_path: Path, settings_before: dict[str, str]
) -> None:
    mark = uuid.uuid4().hex
    host = start(tmp_path / "r", mark)
    wait_for(tmp_path / "r")
    with pytest.raises(RecordingError, match="still goes on"):
        open_recording(tmp_path / "r")
    host.send_signal(signal.SIGINT)
    assert host.wait(30) == 3, "a sleep is no load: no verdict"
    wait_until_as_found(settings_before, mark)
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.state == "interrupted"
    assert sum(account.dropped for account in manifest.cpus) == 0


def test_a_load_that_is_killed_voids_the_run(
    tmp_path: Path, settings_before: dict[str, str]
) -> None:
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "whylate", "measure", "--for", "4s", "--load", "timer:2"]
    host = subprocess.Popen(
        [*command, "-o", str(tmp_path / "r")],
        env={**os.environ, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (tmp_path / "r").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(3)
    victims = [pid for pid, name in marked(mark).items() if name == "whylate-timer"]
    os.kill(victims[0], signal.SIGKILL)
    assert host.wait(30) == 3
    load = open_recording(tmp_path / "r").manifest.loads[0]
    assert load.error == "killed by signal 9"
    assert load.during_per_s is not None
    assert load.during_per_s > 0, "the other instance went on: only the death tells"
    wait_until_as_found(settings_before, mark)


def test_an_empty_setting_is_put_back_empty(
    tmp_path: Path, settings_before: dict[str, str]
) -> None:
    path = Path("/proc/sys/net/ipv4/ip_local_reserved_ports")
    if path.read_text().strip():
        pytest.skip(f"{path} is not empty here")
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "whylate", "measure", "--for", "1s", "--set", f"{path}=9009"]
    done = starts.run(
        [*command, "-o", str(tmp_path / "r")],
        env={**os.environ, MARK: mark},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert path.read_text().strip() == ""
    wait_until_as_found(settings_before, mark)


def test_a_run_under_nohup_outlives_its_terminal(
    tmp_path: Path, settings_before: dict[str, str]
) -> None:
    mark = uuid.uuid4().hex
    command = ["nohup", sys.executable, "-m", "whylate", "measure", "--for", "3s"]
    host = subprocess.Popen(
        [*command, "-o", str(tmp_path / "r")],
        env={**os.environ, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(2.5)
    host.send_signal(signal.SIGHUP)
    assert host.wait(30) == 0
    assert open_recording(tmp_path / "r").manifest.state == "complete"
    wait_until_as_found(settings_before, mark)
