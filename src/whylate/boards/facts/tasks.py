"""The threads that run with real-time priority, and the rules that limit them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whylate.boards.facts.reading import Files, decode, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.boards.facts.sources import Derived, FromFile, FromProbe, Source
from whylate.recording.manifest import Fact
from whylate.text import clean

#: Per thread, not per process: latency often comes from one real-time thread of a program whose
#: other threads are SCHED_OTHER. A line is 150 to 350 bytes, with the policy at its end.
STATS = "/proc/*/task/*/stat"
_OWN_CGROUP = "/proc/self/cgroup"
_SYSCTL = "/proc/sys/kernel"
_SCHED_DEBUG = "/sys/kernel/debug/sched"

_POLICIES = {1: "fifo", 2: "rr", 6: "deadline"}
# The name may hold blanks and parentheses: it ends at the last ")".
_STAT = re.compile(rb"(\d{1,10}) \((.*)\) (.*)", re.DOTALL)


@dataclass(frozen=True)
class RealTimeTask:
    """A SCHED_FIFO, SCHED_RR or SCHED_DEADLINE thread."""

    tid: int
    name: str
    policy: str
    priority: int


def read_realtime_tasks(files: Files) -> list[RealTimeTask]:
    """Return FIFO, round-robin and deadline threads, highest priority first.

    Fields 40 (rt_priority) and 41 (policy) of proc(5)'s /proc/pid/stat.
    """
    tasks: dict[int, RealTimeTask] = {}
    for _, path in files.match(STATS):
        data = files.data(path)
        match = _STAT.match(data) if data is not None else None
        if match is None:
            continue
        # `rest` begins with field 3.
        rest = match.group(3).split()
        if len(rest) < 39:
            continue
        priority, policy = integer(decode(rest[37])), integer(decode(rest[38]))
        if policy in _POLICIES and priority is not None and 0 <= priority <= 99:
            tid = int(match.group(1))
            name = clean(decode(match.group(2)), 32)
            tasks[tid] = RealTimeTask(tid, name, _POLICIES[policy], priority)
    return sorted(tasks.values(), key=lambda t: (t.policy != "deadline", -t.priority, t.tid))


def format_task(task: RealTimeTask) -> str:
    """Return "irq/24-eth0 fifo 50 pid 123"; a deadline thread has no priority."""
    priority = "" if task.policy == "deadline" else f" {task.priority}"
    return f"{task.name} {task.policy}{priority} pid {task.tid}"


def read_group_runtime_us(files: Files) -> tuple[int, str] | None:
    """Return the real-time budget of the probe's own cgroup, with its path, or None.

    Only cgroup v1 with RT_GROUP_SCHED has it; 0 forbids every real-time policy. Only the root and
    the first level below it are read.
    """
    for line in files.lines(_OWN_CGROUP):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if "cpu" in controllers.split(","):
            group = group.strip().rstrip("/")
            path = f"/sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"
            runtime_us = files.number(path)
            return None if runtime_us is None else (runtime_us, path)
    return None


def _tasks(files: Files) -> Iterator[Fact]:
    if threads := sum(1 for _ in files.match(STATS)):
        yield make_fact("threads", threads, "/proc/*/task")
        tasks = [format_task(task) for task in read_realtime_tasks(files)]
        yield make_fact("rt_tasks", tasks, STATS)


def _group_runtime(files: Files) -> Iterator[Fact]:
    if (budget := read_group_runtime_us(files)) is not None:
        yield make_fact("cgroup_rt_runtime_us", *budget)


def _fair_server(files: Files) -> Iterator[Fact]:
    server = [
        f"cpu {cpu} {name}: {files.text(path) or '?'} ns"
        for (cpu, name), path in files.match(f"{_SCHED_DEBUG}/fair_server/cpu*/*")
    ]
    if server:
        yield make_fact("fair_server", server, f"{_SCHED_DEBUG}/fair_server")


def _capabilities(probe: ProbeFacts) -> str | None:
    mask = probe.capabilities
    return None if mask is None else f"{mask & 2**64 - 1:#018x}"


THREADS: tuple[Source, ...] = (
    FromFile("load_average", "/proc/loadavg", 64, lambda text: " ".join(text.split()[:3])),
    Derived(_tasks, (FileRequest("/proc/[0-9]*/task/[0-9]*/stat", 512),)),
    FromFile("rt_runtime_us", f"{_SYSCTL}/sched_rt_runtime_us", 32, integer),
    FromFile("rt_period_us", f"{_SYSCTL}/sched_rt_period_us", 32, integer),
    FromFile("sched_rr_timeslice_ms", f"{_SYSCTL}/sched_rr_timeslice_ms", 32, integer),
    FromFile("sched_autogroup_enabled", f"{_SYSCTL}/sched_autogroup_enabled", 16, integer),
    Derived(
        _group_runtime,
        (
            FileRequest(_OWN_CGROUP, 2048),
            FileRequest("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", 32),
            FileRequest("/sys/fs/cgroup/cpu/*/cpu.rt_runtime_us", 32),
        ),
    ),
    FromFile("sched_features", f"{_SCHED_DEBUG}/features", 2048, str.split),
    FromFile("sched_base_slice_ns", f"{_SCHED_DEBUG}/base_slice_ns", 32, integer),
    FromFile("sched_latency_ns", f"{_SCHED_DEBUG}/latency_ns", 32, integer),
    FromFile("sched_min_granularity_ns", f"{_SCHED_DEBUG}/min_granularity_ns", 32, integer),
    Derived(
        _fair_server,
        (
            FileRequest(f"{_SCHED_DEBUG}/fair_server/cpu[0-9]*/runtime", 32),
            FileRequest(f"{_SCHED_DEBUG}/fair_server/cpu[0-9]*/period", 32),
        ),
    ),
    FromProbe("probe_uid", lambda p: p.effective_uid, "geteuid"),
    FromProbe("probe_rlimit_rtprio", lambda p: p.rlimit_rtprio, "getrlimit(RLIMIT_RTPRIO)"),
    FromProbe(
        "probe_rlimit_memlock", lambda p: p.rlimit_memlock_bytes, "getrlimit(RLIMIT_MEMLOCK)"
    ),
    FromProbe("probe_capabilities", _capabilities, "capget"),
)
