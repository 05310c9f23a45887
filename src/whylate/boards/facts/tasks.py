"""The threads that run with real-time priority, and the rules that hold them back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whylate.boards.facts.reading import Files, clean, decode, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.recording.manifest import Fact

#: Per thread, not per process: what disturbs is often one real-time thread of an ordinary
#: program. A line is 150 to 350 bytes and the scheduling policy stands at its end.
STATS = "/proc/*/task/*/stat"
RT_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
RT_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
OWN_CGROUP = "/proc/self/cgroup"
GROUP_RUNTIME = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us"
_SCHED_DEBUG = "/sys/kernel/debug/sched"
_LEGACY_PREFIX = "/proc/sys/kernel/sched_"

WANTED = (
    FileRequest("/proc/[0-9]*/task/[0-9]*/stat", 512),
    FileRequest("/proc/loadavg", 64),
    FileRequest(RT_RUNTIME, 32),
    FileRequest(RT_PERIOD, 32),
    FileRequest("/proc/sys/kernel/sched_rr_timeslice_ms", 32),
    FileRequest("/proc/sys/kernel/sched_autogroup_enabled", 16),
    FileRequest(OWN_CGROUP, 2048),
    FileRequest(GROUP_RUNTIME, 32),
    FileRequest("/sys/fs/cgroup/cpu/*/cpu.rt_runtime_us", 32),
    FileRequest(f"{_SCHED_DEBUG}/features", 2048),
    FileRequest(f"{_SCHED_DEBUG}/base_slice_ns", 32),
    FileRequest(f"{_SCHED_DEBUG}/latency_ns", 32),
    FileRequest(f"{_SCHED_DEBUG}/min_granularity_ns", 32),
    FileRequest(f"{_SCHED_DEBUG}/fair_server/cpu[0-9]*/runtime", 32),
    FileRequest(f"{_SCHED_DEBUG}/fair_server/cpu[0-9]*/period", 32),
)

_POLICIES = {1: "fifo", 2: "rr", 6: "deadline"}
# The name may hold blanks and parentheses: it ends at the last ")".
_STAT = re.compile(rb"(\d{1,10}) \((.*)\) (.*)", re.DOTALL)


@dataclass(frozen=True)
class RealTimeTask:
    """A thread that the scheduler prefers to every ordinary one."""

    tid: int
    name: str
    policy: str
    priority: int


def realtime_tasks(files: Files) -> list[RealTimeTask]:
    """FIFO, round-robin and deadline threads, most urgent first.

    Fields 40 (rt_priority) and 41 (policy) of proc(5)'s /proc/pid/stat.
    """
    found: dict[int, RealTimeTask] = {}
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
            found[tid] = RealTimeTask(tid, name, _POLICIES[policy], priority)
    return sorted(found.values(), key=lambda t: (t.policy != "deadline", -t.priority, t.tid))


def described(task: RealTimeTask) -> str:
    """Return "irq/24-eth0 fifo 50 pid 123"; a deadline thread has no priority."""
    priority = "" if task.policy == "deadline" else f" {task.priority}"
    return f"{task.name} {task.policy}{priority} pid {task.tid}"


def own_group_runtime_us(files: Files) -> tuple[int, str] | None:
    """Return the real-time budget of the probe's own cgroup, with its path, or None.

    Only cgroup v1 with RT_GROUP_SCHED has it; with 0 no real-time policy can be had there. Only
    the root and the first level below it are read.
    """
    for line in files.lines(OWN_CGROUP):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if "cpu" in controllers.split(","):
            group = group.strip().rstrip("/")
            path = f"/sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"
            runtime_us = files.number(path)
            return None if runtime_us is None else (runtime_us, path)
    return None


def task_facts(files: Files, probe: ProbeFacts) -> list[Fact]:
    """Load, real-time threads, throttling, scheduler settings and the probe's own rights."""
    facts: list[Fact] = []
    facts += file_fact(files, "load_average", "/proc/loadavg", lambda t: " ".join(t.split()[:3]))
    threads = sum(1 for _ in files.match(STATS))
    if threads:
        facts.append(make_fact("threads", threads, "/proc/*/task"))
        tasks = [described(task) for task in realtime_tasks(files)]
        facts.append(make_fact("rt_tasks", tasks, STATS))
    facts += file_fact(files, "rt_runtime_us", RT_RUNTIME, integer)
    facts += file_fact(files, "rt_period_us", RT_PERIOD, integer)
    for name in ("rr_timeslice_ms", "autogroup_enabled"):
        facts += file_fact(files, f"sched_{name}", f"{_LEGACY_PREFIX}{name}", integer)
    budget = own_group_runtime_us(files)
    if budget is not None:
        facts.append(make_fact("cgroup_rt_runtime_us", *budget))
    facts += file_fact(files, "sched_features", f"{_SCHED_DEBUG}/features", str.split)
    for name in ("base_slice_ns", "latency_ns", "min_granularity_ns"):
        facts += file_fact(files, f"sched_{name}", f"{_SCHED_DEBUG}/{name}", integer)
    server = [
        f"cpu {cpu} {what}: {files.text(path) or '?'} ns"
        for (cpu, what), path in files.match(f"{_SCHED_DEBUG}/fair_server/cpu*/*")
    ]
    if server:
        facts.append(make_fact("fair_server", server, f"{_SCHED_DEBUG}/fair_server"))
    for fact_name, value, how in (
        ("probe_uid", probe.effective_uid, "geteuid"),
        ("probe_rlimit_rtprio", probe.rlimit_rtprio, "getrlimit(RLIMIT_RTPRIO)"),
        ("probe_rlimit_memlock", probe.rlimit_memlock_bytes, "getrlimit(RLIMIT_MEMLOCK)"),
    ):
        if value is not None:
            facts.append(make_fact(fact_name, value, how))
    if probe.capabilities is not None:
        mask = f"{probe.capabilities & 2**64 - 1:#018x}"
        facts.append(make_fact("probe_capabilities", mask, "capget"))
    return facts
