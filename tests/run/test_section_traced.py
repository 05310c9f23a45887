"""`whylate section --hook tracefs` on this machine, of programs whose system calls are known."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest
from section_runs import CALLS, build_caller, command, has_started, report_of, timed

from processes import children_of
from waiting import came_true
from whylate.recording.reader import open_recording

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

#: Numbers of getpid and getppid.
GETPID, GETPPID = {"x86_64": (39, 110), "aarch64": (172, 173)}.get(platform.machine(), (0, 0))
INSTANCES = Path("/sys/kernel/tracing/instances")


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program caller, by which name its thread goes."""
    return build_caller(tmp_path_factory.mktemp("caller") / "wl-traced")


@pytest.mark.parametrize(
    ("condition", "times"),
    [
        (f"if id=={GETPID}", 1),
        (f"if id=={GETPID} and id=={GETPPID}", 0),
        (f"if id=={GETPID} by id", 1),
    ],
)
def test_exactly_the_system_calls_of_a_program_that_meet_the_conditions_are_counted(
    tmp_path: Path, caller: Path, condition: str, times: int
) -> None:
    program = [str(caller), "calls", "12345", str(GETPID)]
    options = ("--hook", "tracefs", "--comm", caller.name, "--one-in", "16")
    manifest = timed(tmp_path / "r", f"{CALLS} {condition}", *options, program=program)
    section, account = report_of(manifest)
    assert section.hook == "trace event"
    assert section.observed == []
    assert account.entries == account.returned == 12345 * times
    assert (account.in_flight, account.left, account.no_room, account.missed) == (0, 0, 0, 0)
    assert sum(part.count for cpu in section.cpus for part in cpu.bins) == 12345 * times
    # Six standard deviations round what is expected.
    kept = sum(cpu.seen + cpu.dropped for cpu in manifest.cpus)
    assert abs(kept - 12345 * times / 16) <= 6 * (12345 * times / 16 * 15 / 16) ** 0.5


def test_what_lies_between_switches_of_a_cpu_fills_its_time(tmp_path: Path, caller: Path) -> None:
    """A trace event ends what it began before: executions follow one another without a gap."""
    switch = "sched:sched_switch..sched:sched_switch by cpu"
    program = [str(caller), "sleeps", "500", "100000", str(tmp_path / "log")]
    manifest = timed(tmp_path / "r", switch, "--hook", "tracefs", "--one-in", "1", program=program)
    _, account = report_of(manifest)
    assert account.entries > 1_000
    assert account.left == account.missed == 0
    assert account.in_flight <= len(manifest.cpus)
    for cpu, cpu_series in zip(manifest.cpus, open_recording(tmp_path / "r").samples, strict=True):
        end_ns = cpu_series.due_ns + cpu_series.latency_ns
        # One that was not read in time leaves a gap.
        assert (cpu_series.due_ns[1:] != end_ns[:-1]).sum() <= cpu.dropped


@pytest.mark.parametrize(
    ("section", "options", "why"),
    [
        (f"{CALLS} if nope==1", (), "raw_syscalls:sys_enter has no field nope"),
        (f"{CALLS} by args", (), "raw_syscalls:sys_enter: its field args is no number"),
        ("nope:begin..raw_syscalls:sys_exit", (), "no trace event nope:begin"),
        ("sys_enter..raw_syscalls:sys_exit", (), "sys_enter is no trace event: write SYSTEM:NAME"),
        (CALLS, ("--pid", "1"), "use --comm NAME"),
        (CALLS, ("--locks",), "waits for locks are told by BPF programs only"),
    ],
)
def test_what_trace_events_cannot_do_is_refused_with_the_reason(
    tmp_path: Path, section: str, options: tuple[str, ...], why: str
) -> None:
    words = command(tmp_path / "r", section, "--hook", "tracefs", *options)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert why in done.stderr.splitlines()[-1]
    assert not (tmp_path / "r").exists()


def instances() -> set[str]:
    return {path.name for path in INSTANCES.glob("whylate-*")}


@pytest.mark.skipif(not INSTANCES.is_dir(), reason="tracefs is not mounted here")
def test_a_kill_of_the_probe_leaves_no_instance_of_tracing(tmp_path: Path) -> None:
    before = instances()
    run = subprocess.Popen(
        command(tmp_path / "r", CALLS, "--hook", "tracefs", "--one-in", "1024", seconds=60),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert came_true(lambda: has_started(tmp_path / "r"))
        (name,) = instances() - before
        probe = int(name.removeprefix("whylate-"))
        assert probe in children_of(run.pid)
        os.kill(probe, signal.SIGKILL)
        assert came_true(lambda: name not in instances())
    finally:
        run.kill()
        run.wait()
