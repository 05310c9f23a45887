"""Probe and host are killed at random moments of a section: nothing is left in the kernel."""

from __future__ import annotations

import ctypes
import glob
import os
import platform
import random
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn

import msgspec
import pytest
from section_runs import CALLS

from processes import descendants_of, lives
from user_sections import COUNTING, UPROBES, code_of, compiled
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import Section as Plan
from whylate.run.workloads import rules
from whylate.run.workloads.counters import counters_command, resolve_counters
from whylate.run.workloads.off import off_workload
from whylate.run.workloads.section import parse_place
from whylate.wire.frame import Frame
from whylate.wire.messages import CpuStarted, Message, OffMethod, Result

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine(), 386)
#: Commands of bpf(2) that give the next id, and how a descriptor's fdinfo names it.
NEXT_ID = {"prog_id": 11, "map_id": 12, "link_id": 31}
#: fsopen, fsconfig, fsmount: the same numbers everywhere. FSCONFIG_CMD_CREATE.
FSOPEN, FSCONFIG, FSMOUNT, CREATE = 430, 431, 432, 6
RUN_NS = 100_000_000
#: Of each stage; of further kinds of runs.
KILLS, FEWER_KILLS = 4, 2
#: On a busy machine a short stage may be over before it is seen: so many kills at most.
MOST = 12
SEED = 20
#: Maps of a section. That which measures the floor has as many more.
MAPS = 5
STAGES = ("start", "trial", "floor", "run", "end")
#: Directories in tracefs that a probe makes have this name, and its process.
INSTANCE = "whylate-"
GUARDIAN = "wl-guardian"
CPUS = tuple(sorted(os.sched_getaffinity(0)))
Ids = set[tuple[str, int]]


# ---------------------------------------------------------------- what the kernel holds


def syscall(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))


def ids_of(kind: str) -> Iterator[int]:
    last = 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("<II", last, 0), 16)
        if syscall(BPF, NEXT_ID[kind], attributes, len(attributes)) < 0:
            return
        last = struct.unpack_from("<II", attributes)[1]
        yield last


def all_ids() -> Ids:
    return {(kind, number) for kind in NEXT_ID for number in ids_of(kind)}


def held_ids(pid: int | Literal["*"] = "*") -> Ids:
    """Return the ids that a process holds, or any: others' programs may come meanwhile."""
    held = set()
    # Unlike pathlib's, this glob passes processes that end meanwhile.
    for info in glob.iglob(f"/proc/{'[0-9]*' if pid == '*' else pid}/fdinfo/*"):  # noqa: PTH207
        try:
            text = Path(info).read_text()
        except OSError:
            continue
        held |= {(kind, int(number)) for kind, number in re.findall(r"(\w+_id):\s*(\d+)", text)}
    return held


@contextmanager
def tracefs() -> Iterator[Path]:
    """Mount tracefs nowhere, and return its directory."""
    context = syscall(FSOPEN, b"tracefs", 0)
    assert context >= 0
    assert syscall(FSCONFIG, context, CREATE, None, None, 0) == 0
    mount = syscall(FSMOUNT, context, 0, 0)
    assert mount >= 0
    try:
        yield Path(f"/proc/self/fd/{mount}")
    finally:
        os.close(mount)
        os.close(context)


def events(root: Path) -> dict[str, str | None]:
    files = {name: root / name for name in ("uprobe_events", "kprobe_events")}
    return {name: file.read_text() if file.exists() else None for name, file in files.items()}


def instances_of(root: Path, pids: Collection[int]) -> set[str]:
    """Return the instances of tracing that these processes made."""
    made = {f"{INSTANCE}{pid}" for pid in pids}
    names = [path.name for path in (root / "instances").iterdir()]
    return {name for name in names if name.split(".")[0] in made}


def comm_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


# ---------------------------------------------------------------- a run


def section_of(text: str) -> Plan:
    return Plan(duration_ns=RUN_NS, spool=False, place=parse_place(text))


def serve(plan: Workload, pipe: int) -> NoReturn:
    """Be the host of a run, and write to the pipe how far it is."""

    def receive(_: Frame, message: Message) -> None:
        if isinstance(message, CpuStarted) and message.cpu == 0:
            os.write(pipe, b"run %d\n" % message.end_ns)
        elif isinstance(message, OffMethod):
            # It ends with the call.
            os.write(pipe, b"run %d\n" % sys.maxsize)
        elif isinstance(message, Result):
            os.write(pipe, b"over 0\n")

    try:
        started = LocalBoard().start_probe(lambda _: None)
        with closing(started.stream) as stream:
            client = Client(stream, receive)
            client.hello()
            client.keepalive(started.keepalive_s)
            if plan.counters:
                client.call(counters_command(resolve_counters(plan.counters, None)))
            for command in rules(plan).script(plan, CPUS):
                client.call(command)
            if not isinstance(plan, Plan):
                os.write(pipe, b"over 0\n")
            while True:
                client.pump(1)
    finally:
        os._exit(1)


@dataclass
class Run:
    """A run by a host of its own, which is a child of the test."""

    pid: int
    pipe: int
    before: Ids
    began: float
    text: str = ""
    killed: set[int] = field(default_factory=set)
    #: Whether the guardian was not killed before the probe's death could reach it.
    has_guardian: bool = False

    @property
    def stage(self) -> str:
        """How far the run is."""
        if select.select([self.pipe], [], [], 0)[0]:
            self.text += os.read(self.pipe, 4096).decode()
        lines = self.text.split("\n")[:-1]
        if not lines:
            return self.stage_before_messages
        stage, end_ns = lines[-1].split()
        if stage == "run" and time.clock_gettime_ns(time.CLOCK_MONOTONIC) >= int(end_ns):
            return "end"
        return stage

    @property
    def stage_before_messages(self) -> str:
        """How far the run is, by what its processes hold: the probe sends nothing until then."""
        held = set().union(*map(held_ids, descendants_of(self.pid)))
        maps = sum(kind == "map_id" for kind, _ in held)
        return "floor" if maps > MAPS else "trial" if maps else "start"

    def wait_for(self, stage: str) -> None:
        """Wait until that stage, or a later one."""
        order = (*STAGES, "over")
        while order.index(self.stage) < order.index(stage):
            if time.monotonic() > self.began + 30:
                self.kill(random.Random(0), spares_guardian=True)
                pytest.fail(f"no {stage} within 30 s: {self.text}")
            time.sleep(0.001)

    def kill(self, drawn: random.Random, *, spares_guardian: bool = False) -> str:
        """Kill host and probe in any order; returns the stage that they were in."""
        victims = [self.pid, *descendants_of(self.pid)]
        self.killed = set(victims)
        self.has_guardian = spares_guardian
        if spares_guardian:
            victims = [pid for pid in victims if comm_of(pid) != GUARDIAN]
        drawn.shuffle(victims)
        stage = self.stage
        for victim in victims:
            # The guardian ends what a killed probe leaves, and itself.
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return stage


def start(plan: Workload) -> Run:
    before, (reader, writer) = all_ids(), os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        serve(plan, writer)
    os.close(writer)
    return Run(pid, reader, before, began)


def lengths(plan: Workload) -> dict[str, float]:
    """Return how long each stage of a run takes, in seconds."""
    run = start(plan)
    times = {}
    for stage in (*STAGES, "over"):
        run.wait_for(stage)
        times[stage] = time.monotonic()
    run.kill(random.Random(0))
    ends = list(times.values())[1:]
    return {stage: end - times[stage] for stage, end in zip(STAGES, ends, strict=True)}


def gone(before: Ids) -> Ids:
    """Return what came since, and no process holds, after it had time to go."""
    until = time.monotonic() + 20
    while left := all_ids() - before:
        left -= held_ids()
        if not left or time.monotonic() > until:
            return left & all_ids()
        time.sleep(0.01)
    return set()


def processes_are_gone(run: Run, root: Path) -> None:
    """Wait until no process of a run is there: with them go their descriptors."""
    del root
    until = time.monotonic() + 20
    while any(map(lives, run.killed)):
        assert time.monotonic() < until, "a process is left"
        time.sleep(0.01)


def kill_at_random_moments(
    plan: Workload,
    stages: Sequence[str],
    check: Callable[[Run, Path], None] = processes_are_gone,
    kills: int = KILLS,
) -> Counter[str]:
    """Kill at as many moments of each stage, and return how often each was hit.

    Every second guardian of a probe is spared. check: what else must be gone; of a run, with the
    directory of tracefs.
    """
    drawn = random.Random(SEED)
    length_s = lengths(plan)
    hits: Counter[str] = Counter()
    with tracefs() as root:
        before = events(root)
        for number in range(MOST * len(stages)):
            missed = [stage for stage in stages if stage not in hits]
            again = number >= kills * len(stages)
            if again and not missed:
                break
            aimed = missed[0] if again else stages[number % len(stages)]
            run = start(plan)
            run.wait_for(aimed)
            if not again:
                time.sleep(drawn.uniform(0, length_s[aimed]))
            hit = run.kill(drawn, spares_guardian=bool(number % 2))
            sys.stdout.write(f"kill {number}, {time.monotonic() - run.began:.3f} s: {hit}\n")
            hits[hit] += 1
            assert gone(run.before) == set(), hit
            check(run, root)
            assert events(root) == before, hit
    return hits


def test_kills_of_a_pair_of_tracepoints_leave_nothing() -> None:
    hits = kill_at_random_moments(section_of(CALLS), STAGES)
    assert set(STAGES) <= set(hits), hits


@pytest.mark.skipif(not UPROBES.exists(), reason="this kernel has no uprobes")
def test_kills_of_a_section_of_user_code_leave_nothing(tmp_path: Path) -> None:
    """No breakpoint in a program that goes on, either."""
    text = COUNTING.replace("return 0;", "fflush(stdout); getchar(); return 0;")
    file = compiled(tmp_path, text)
    with subprocess.Popen([file, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        clean = code_of(process.pid, file)

        def check(run: Run, root: Path) -> None:
            processes_are_gone(run, root)
            until = time.monotonic() + 20
            while code_of(process.pid, file) != clean:
                assert time.monotonic() < until, "a breakpoint is left"
                time.sleep(0.01)

        # Its floor is not measured.
        stages = [stage for stage in STAGES if stage != "floor"]
        # The kernel leaves a breakpoint where the last descriptor is closed by who is killed.
        plan = section_of(f"{file}:decode_frame")
        hits = kill_at_random_moments(plan, [*stages, "end", "end"], check)
        process.communicate(b"\n")
    assert process.returncode == 0
    assert set(stages) <= set(hits), hits


def test_kills_of_a_section_with_counters_and_samples_leave_nothing() -> None:
    """Its events of perf are the programs' and the maps', which are gone, or its processes'."""
    plan = Plan(
        duration_ns=RUN_NS,
        spool=False,
        place=parse_place(CALLS),
        samples=True,
        locks=True,
        paths=True,
        counters=[CounterPlan("page-faults"), CounterPlan("context-switches")],
    )
    # Its maps are too many to tell the trial from the floor.
    stages = [stage for stage in STAGES if stage != "trial"]
    hits = kill_at_random_moments(plan, stages, kills=FEWER_KILLS)
    assert set(stages) <= set(hits), hits


def test_kills_while_it_is_sampled_where_interrupts_are_disabled_leave_nothing() -> None:
    plan = off_workload("irqs-off", 5 * RUN_NS, method="sampled")
    points = [msgspec.structs.replace(point, cpus=CPUS) for point in plan.points]
    plan = msgspec.structs.replace(plan, points=points, order=[0])
    hits = kill_at_random_moments(plan, ("start", "run"), kills=2 * FEWER_KILLS)
    assert {"start", "run"} <= set(hits), hits


def test_kills_of_trace_events_leave_nothing_that_guardian_or_next_run_keeps() -> None:
    """Instances of tracing have no owner in the kernel: without the guardian the next probe."""
    plan = Plan(duration_ns=RUN_NS, spool=False, place=parse_place(CALLS, "tracefs"))

    def check(run: Run, root: Path) -> None:
        if not run.has_guardian and instances_of(root, run.killed):
            following = start(plan)
            following.wait_for("run")
            following.kill(random.Random(0), spares_guardian=True)
            check(following, root)
            assert not instances_of(root, run.killed)
        until = time.monotonic() + 20
        while instances_of(root, run.killed):
            assert time.monotonic() < until, "an instance of tracing is left"
            time.sleep(0.01)
        processes_are_gone(run, root)

    stages = ("start", "run", "end")
    hits = kill_at_random_moments(plan, stages, check, FEWER_KILLS)
    assert set(stages) <= set(hits), hits
