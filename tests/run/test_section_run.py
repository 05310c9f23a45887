"""`whylate section` on this machine, of programs whose system calls are known."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from section_runs import CALLS, build_caller, command, has_started, report_of, timed

from processes import descendants_of, programs_of
from user_sections import command as command_of
from user_sections import output, time_section
from waiting import came_true
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.reader import open_recording

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

#: Numbers of getpid, getppid, clock_nanosleep and bpf; what finds a program by its id.
GETPID, GETPPID, SLEEP, BPF = {"x86_64": (39, 110, 230, 321), "aarch64": (172, 173, 115, 280)}.get(
    platform.machine(), (0, 0, 0, 0)
)
EXIT, EXECVE = {"x86_64": (60, 59), "aarch64": (93, 221)}.get(platform.machine(), (0, 0))
PROG_GET_FD_BY_ID = 13


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program caller, by which name its thread goes."""
    return build_caller(tmp_path_factory.mktemp("caller") / "wl-caller")


@pytest.mark.parametrize(
    ("condition", "times"),
    [
        (f"if id=={GETPID}", 1),
        (f"if id=={GETPPID}", 0),
        (f"if id=={GETPID} and id=={GETPPID}", 0),
        (f"if id=={GETPID} by regs", 1),
        (f"if 1=={GETPID} by thread", 1),
    ],
)
def test_exactly_the_system_calls_of_a_program_that_meet_the_conditions_are_counted(
    tmp_path: Path, caller: Path, condition: str, times: int
) -> None:
    program = [str(caller), "calls", "12345", str(GETPID)]
    manifest = timed(tmp_path / "r", f"{CALLS} {condition}", "--comm", caller.name, program=program)
    section, account = report_of(manifest)
    assert section.hook == "tracepoint"
    assert account.entries == account.returned == 12345 * times
    assert (account.in_flight, account.left, account.no_room, account.missed) == (0, 0, 0, 0)
    if section.one_in == 1:
        assert sum(cpu.seen + cpu.dropped for cpu in manifest.cpus) == 12345 * times


@pytest.mark.parametrize("hook", ["best", "tracefs"])
def test_each_sleep_lies_between_the_program_s_own_readings_of_the_clock(
    tmp_path: Path, caller: Path, hook: str
) -> None:
    log = tmp_path / "log"
    program = [str(caller), "sleeps", "300", "300000", str(log)]
    section = f"{CALLS} if id=={SLEEP}"
    options = ("--hook", hook, "--comm", caller.name)
    manifest = timed(tmp_path / "r", section, *options, program=program)
    assert report_of(manifest)[1].returned == 300
    own = np.loadtxt(log, dtype=np.int64)
    rows = pq.read_table(tmp_path / "r" / "samples.parquet").sort_by("due_ns")
    begin_ns = rows["due_ns"].to_numpy()
    duration_ns = rows["latency_ns"].to_numpy()
    assert (duration_ns >= 300_000).all()
    assert (own[:, 0] <= begin_ns).all()
    assert (begin_ns + duration_ns <= own[:, 1]).all()


def test_one_of_sixteen_executions_is_kept_and_all_are_counted(
    tmp_path: Path, caller: Path
) -> None:
    program = [str(caller), "calls", "160000", str(GETPID)]
    section = f"{CALLS} if id=={GETPID}"
    manifest = timed(
        tmp_path / "r", section, "--comm", caller.name, "--one-in", "16", program=program
    )
    report, account = report_of(manifest)
    assert report.one_in == 16
    assert account.entries == account.returned == 160_000
    in_bins = sum(part.count for cpu in report.cpus for part in cpu.bins)
    assert in_bins == 160_000
    # Six standard deviations round what is expected.
    kept = sum(cpu.seen + cpu.dropped for cpu in manifest.cpus)
    assert abs(kept - 10_000) < 6 * (160_000 / 16 * 15 / 16) ** 0.5


@pytest.mark.parametrize("hook", ["best", "tracefs"])
def test_a_system_call_that_ends_its_thread_is_left_and_has_no_duration(
    caller: Path, hook: str
) -> None:
    """More threads than there are places; and processes that all have one pid.

    The first system call that a child returns from is that by which it began.
    """
    section = command_of(f"{CALLS} if id=={EXIT}", hook, comm=caller.name)

    def run() -> None:
        output(caller, "ends", "6000")()
        output(caller, "reuses", "500")()

    assert time_section(section, run).counts == (6500, 0, 6500, 0)


@pytest.mark.parametrize("hook", ["best", "tracefs"])
def test_a_system_call_that_replaces_the_program_returns_under_another_pid(
    caller: Path, hook: str
) -> None:
    section = command_of(f"{CALLS} if id=={EXECVE}", hook, comm=caller.name)
    came = time_section(section, output(caller, "replaces", "50"))
    assert came.counts == (50, 50, 0, 0)


@pytest.mark.parametrize("hook", ["best", "tracefs"])
@pytest.mark.parametrize("begin", ["sched_process_exit", "sched_switch"])
def test_a_section_may_lie_in_the_end_of_a_thread(caller: Path, hook: str, begin: str) -> None:
    """It ends at the thread's last switch; or begins there, and is left."""
    section = command_of(f"sched:{begin}..sched:sched_switch", hook, comm=caller.name)
    came = time_section(section, output(caller, "ends", "6000"))
    entries, returned, left, _ = came.counts
    assert entries == returned + left
    if begin == "sched_switch":
        assert returned > 0
        assert 6001 <= left < 6010
    else:
        assert (entries, left) == (6001, 0)


def test_what_lies_between_switches_of_a_cpu_fills_its_time(tmp_path: Path, caller: Path) -> None:
    """A tracepoint ends what it began before: executions follow one another without a gap."""
    switch = "sched:sched_switch..sched:sched_switch by cpu"
    program = [str(caller), "sleeps", "500", "100000", str(tmp_path / "log")]
    manifest = timed(tmp_path / "r", switch, "--one-in", "1", program=program)
    _, account = report_of(manifest)
    assert account.entries > 1_000
    assert account.left == 0
    assert account.in_flight <= len(manifest.cpus)
    assert sum(cpu.dropped for cpu in manifest.cpus) == 0
    for cpu_series in open_recording(tmp_path / "r").samples:
        end_ns = cpu_series.due_ns + cpu_series.latency_ns
        gap_ns = cpu_series.due_ns[1:] - end_ns[:-1]
        # What is between is the program's own, and whatever the hypervisor takes there.
        assert gap_ns.min() >= 0
        assert np.median(gap_ns) < 5_000


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (f"{CALLS} if nope==1", "raw_syscalls:sys_enter has no argument nope"),
        (f"{CALLS} if 2==1", "raw_syscalls:sys_enter has no argument 2"),
        (f"{CALLS} by id", "raw_syscalls:sys_exit has no argument id"),
        ("nope:begin..raw_syscalls:sys_exit", "nope:begin: No such file or directory"),
        ("raw_syscalls:sys_enter..nope:end", "nope:end: No such file or directory"),
        ("no_such_function", "fentry: "),
    ],
)
def test_what_this_kernel_has_not_is_refused_with_its_name(
    tmp_path: Path, section: str, why: str
) -> None:
    done = subprocess.run(
        command(tmp_path / "r", section), capture_output=True, text=True, check=False, timeout=60
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 3
    assert why in last, last
    assert not (tmp_path / "r").exists()


def address_of(function: str) -> int:
    """Return where a function of the kernel lies; skips where that is hidden."""
    for line in Path("/proc/kallsyms").read_text().splitlines():
        words = line.split()
        if words[2] == function and int(words[0], 16):
            return int(words[0], 16)
    pytest.skip(f"where {function} lies is not shown")


def refusal(place: str) -> str:
    with pytest.raises(ProbeRefusedError) as caught:
        time_section(command_of(place), lambda: None)
    return str(caught.value)


def test_an_address_in_code_that_times_executions_is_refused_with_its_name() -> None:
    own, other = address_of("ktime_get_mono_fast_ns"), address_of("vfs_read")
    refused = "lies in ktime_get_mono_fast_ns+0x4, which runs while an execution is timed"
    assert refused in refusal(f"{own + 4:#x}..vfs_read+0x4")
    assert refused in refusal(f"vfs_read+0x4..{own + 4:#x}")
    # An offset may lead to another function.
    if own > other:
        assert refused in refusal(f"vfs_read+{own + 4 - other:#x}..vfs_read+0x4")
    # No instruction begins there; or this kernel permits no kprobe.
    assert "runs while" not in refusal(f"{other + 1:#x}..vfs_read+0x5")


def test_a_function_is_timed_or_each_hook_says_why_not(tmp_path: Path) -> None:
    """Which of them depends on the kernel: a virtual machine's may permit neither."""
    done = subprocess.run(
        command(tmp_path / "r", "vfs_read", seconds=0.2),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if (tmp_path / "r").exists():
        section, account = report_of(open_recording(tmp_path / "r").manifest)
        assert section.hook in ("fentry", "kprobe session", "kprobe multi", "kprobe")
        assert account.entries > 0
        return
    last = done.stderr.splitlines()[-1]
    assert "no hook can be set there: fentry: " in last
    assert all(f"; {hook}: " in last for hook in ("kprobe session", "kprobe multi", "kprobe"))


def is_loaded(program: int) -> bool:
    attributes = struct.pack("<III", program, 0, 0)
    fd = ctypes.CDLL(None, use_errno=True).syscall(
        BPF, PROG_GET_FD_BY_ID, attributes, len(attributes)
    )
    if fd >= 0:
        os.close(fd)
        return True
    assert ctypes.get_errno() == errno.ENOENT
    return False


def test_hooks_that_keep_the_probe_from_running_end_by_themselves(
    tmp_path: Path, caller: Path
) -> None:
    # What a section in interrupts could do: the probe is stopped while 3,000,000 begin.
    section = f"{CALLS} if id=={GETPID}"
    with subprocess.Popen(
        command(tmp_path / "r", section, "--comm", caller.name, seconds=60),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as run:  # fmt: skip
        assert came_true(lambda: has_started(tmp_path / "r"))
        (probe,) = [pid for pid in descendants_of(run.pid) if programs_of(pid)]
        os.kill(probe, signal.SIGSTOP)
        try:
            cpu = str(min(os.sched_getaffinity(0)))
            calls = [str(caller), "calls", "3000000", str(GETPID)]
            subprocess.run(["taskset", "-c", cpu, *calls], check=True)
        finally:
            os.kill(probe, signal.SIGCONT)
        run.wait(50)
    manifest = open_recording(tmp_path / "r").manifest
    _, account = report_of(manifest)
    (note,) = [each for each in manifest.problems if "before the probe could run" in each.text]
    allowed, words = note.text.split(maxsplit=1)
    assert words.startswith("executions began on a CPU")
    assert int(allowed) <= account.entries < 3_000_000
    assert not note.fatal


@pytest.mark.parametrize("victim", ["the probe", "whylate"])
def test_a_kill_leaves_no_program_in_the_kernel(tmp_path: Path, victim: str) -> None:
    run = subprocess.Popen(
        command(tmp_path / "r", CALLS, seconds=60),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert came_true(lambda: has_started(tmp_path / "r"))
        holders = {pid: programs_of(pid) for pid in descendants_of(run.pid)}
        programs = set().union(*holders.values())
        # At the beginning and the end, and those that tell what a thread does meanwhile.
        assert len(programs) >= 2
        assert all(map(is_loaded, programs))
        (probe,) = [pid for pid, held in holders.items() if held]
        os.kill(probe if victim == "the probe" else run.pid, signal.SIGKILL)
        assert came_true(lambda: not any(map(is_loaded, programs)))
    finally:
        run.kill()
        run.wait()
