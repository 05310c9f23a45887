"""The flight recorder's BPF engine, on this machine's own kernel.

The driver records one SCHED_FIFO thread on each CPU, which sleeps 1 ms at a time, and prints what
is in the rings; everything is asserted of that.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from processes import programs_of

PROBE = Path(__file__).parents[2] / "probe"
WARNINGS = ["all", "extra", "error", "shadow", "strict-prototypes", "missing-prototypes", "vla"]
FLAGS = ["-static", "-O2", "-D_GNU_SOURCE", "-std=c11", "-pthread"]
FLAGS += [f"-W{name}" for name in WARNINGS]
#: enum recorder_kind
IRQ_ENTRY, IRQ_EXIT, VECTOR_ENTRY, VECTOR_EXIT = 1, 2, 3, 4
SOFTIRQ_ENTRY, SOFTIRQ_EXIT, TIMER_ENTRY, TIMER_EXIT, WAKING, SWITCH = 6, 7, 9, 10, 11, 12
STACK, FRAMES = 21, 22
#: enum recorder_sum
STEAL, SUMS = 5, 6
#: Of how many gaps between arrivals the shortest time is kept; the first EXACT ones exactly.
GAPS, EXACT = (1, 4, 16, 64, 256), 3
#: Of up to how many executions in a row the longest total is kept.
ROWS = (4, 16)
#: A kernel may hide a part of what it does from every tracer, tracefs too: one that we test on
#: does so while its init runs.
HIDDEN = 0.01
#: A copy of a ring that is written to is tried so often.
ATTEMPTS = 4
BPF_PROG_GET_FD_BY_ID = 13
BPF_CALL = {"x86_64": 321, "aarch64": 280}

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="BPF needs root"),
    pytest.mark.skipif(
        not Path("/sys/kernel/btf/vmlinux").exists(), reason="this kernel has no BTF"
    ),
    pytest.mark.skipif(platform.machine() not in BPF_CALL, reason="no BPF engine for this CPU"),
]


@dataclass(frozen=True)
class Event:
    """One event line; the names are those of struct recorder_event."""

    time_ns: int
    seq: int
    kind: int
    a: int
    b: int
    c: int
    d: int
    e: int
    f: int


@dataclass(frozen=True)
class Stage:
    """One stage line."""

    switched_ns: int
    waking_ns: int
    timer_ns: int
    sums: tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """One window line: of an activation that was to be held."""

    due_ns: int
    run_ns: int
    observed_ns: int
    events: int

    @property
    def complete(self) -> bool:
        """Whether all of it was kept."""
        return self.observed_ns == self.due_ns


@dataclass(frozen=True)
class Maximum:
    """One maximum line: totals_ns are of up to so many of ROWS executions in a row.

    spans_ns is of the gaps of GAPS, 0 where there were not so many.
    """

    device: int
    arrivals: int
    longest_ns: int
    longest_at_ns: int
    totals_ns: tuple[int, ...]
    spans_ns: tuple[int, ...]


@dataclass
class Cpu:
    """What was recorded of one CPU."""

    pid: int = 0
    recorded: int = 0
    ring: int = 0
    events: list[Event] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    holds: int = 0
    not_held: int = 0
    #: By their places (probe/src/recorder/event.h).
    maxima: dict[int, Maximum] = field(default_factory=dict)


@dataclass
class Recording:
    """What the driver printed."""

    cpus: dict[int, Cpu] = field(default_factory=lambda: defaultdict(Cpu))
    sources: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    verified: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    run_ns: int = 0
    missed: int = 0
    #: The driver's time, with its start.
    took_s: float = 0.0

    @property
    def stormy(self) -> Cpu:
        """The CPU with the most events."""
        return max(self.cpus.values(), key=lambda cpu: cpu.recorded)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the driver with the engine in it."""
    target = tmp_path_factory.mktemp("recorder") / "recorder_driver"
    engine = ["bpf", "bpf_attach", "bpf_hooks", "bpf_maps", "bpf_sources", "hooks", "kallsyms"]
    names = [f"recorder/{name}" for name in [*engine, "window"]]
    names += [
        f"bpf/{name}" for name in ("btf_text", "kernel_btf", "kprobe", "map", "peek", "program")
    ]
    sources = [PROBE / f"src/{name}.c" for name in names]
    sources += [PROBE / "src/failure.c", PROBE / "src/small_file.c"]
    compiler = shutil.which(os.environ.get("CC", "cc")) or "gcc"
    command: list[str | Path] = [compiler, *FLAGS]
    command += [f"-I{PROBE / 'src'}", f"-I{PROBE / 'tests'}"]
    command += [PROBE / "tests/recorder_driver.c", *sources, "-o", target]
    subprocess.run(command, check=True)
    return target


def read(text: str) -> Recording:
    """Read what the driver prints."""
    recording = Recording()
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "cpu":
            cpu = recording.cpus[int(words[0])]
            cpu.pid, cpu.recorded, cpu.ring = int(words[2]), int(words[4]), int(words[10])
        elif kind == "event":
            recording.cpus[int(words[0])].events.append(Event(*map(int, words[1:])))
        elif kind == "stage":
            cpu_number, switched, waking, timer, *sums = map(int, words)
            recording.cpus[cpu_number].stages.append(Stage(switched, waking, timer, tuple(sums)))
        elif kind == "window":
            recording.cpus[int(words[0])].windows.append(Window(*map(int, words[1:])))
        elif kind == "maximum":
            number, place, device, arrivals, longest, at, *others = map(int, words)
            totals, spans = others[: len(ROWS)], others[len(ROWS) :]
            maximum = Maximum(device, arrivals, longest, at, tuple(totals), tuple(spans))
            recording.cpus[number].maxima[place] = maximum
        elif kind == "held":
            cpu = recording.cpus[int(words[0])]
            cpu.holds, cpu.not_held = int(words[1]), int(words[2])
        elif kind == "source":
            recording.sources[words[0]] = int(words[1])
        elif kind == "fault":
            recording.faults.append(line)
        else:
            read_cost(recording, kind, words)
    return recording


def read_cost(recording: Recording, kind: str, words: list[str]) -> None:
    """Read what the driver prints of itself."""
    if kind == "program":
        recording.verified[words[0]] = int(words[3])
    elif kind == "cost":
        recording.runs, recording.run_ns, recording.missed = map(int, words)


def record(driver: Path, seconds: float, *options: str) -> Recording:
    """Record for some time."""
    began = time.monotonic()
    done = subprocess.run(
        [driver, "bpf", str(seconds), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return replace(read(done.stdout), took_s=time.monotonic() - began)


@contextmanager
def busy_in_the_kernel() -> Iterator[None]:
    """Have each CPU do something when a timer comes, for of idle ones nothing is looked at."""
    children = []
    for cpu in os.sched_getaffinity(0):
        child = os.fork()
        if not child:
            os.sched_setaffinity(0, {cpu})
            zeros = os.open("/dev/zero", os.O_RDONLY)
            while True:
                os.read(zeros, 1 << 16)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@contextmanager
def switch_storm() -> Iterator[None]:
    """Have two processes wake each other as fast as they can."""
    there, back = os.pipe(), os.pipe()
    children = []
    for source, target, begins in ((there[0], back[1], False), (back[0], there[1], True)):
        child = os.fork()
        if not child:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            if begins:
                os.write(target, b"x")
            while os.read(source, 1):
                os.write(target, b"x")
            os._exit(0)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for descriptor in there + back:
            os.close(descriptor)


@pytest.fixture(scope="module")
def second(driver: Path) -> Recording:
    """Record one second of whatever this machine does."""
    return record(driver, 1)


def test_the_needed_tracepoints_are_attached(second: Recording) -> None:
    """A source that is not there has an errno; these are in every kernel with BTF."""
    needed = ["sched:sched_switch", "sched:sched_waking", "irq:irq_handler_entry"]
    needed += ["irq:softirq_entry", "timer:hrtimer_expire_entry", "power:cpu_idle"]
    assert {name: second.sources[name] for name in needed} == dict.fromkeys(needed, 0)


def test_exits_are_attached_before_their_entries(second: Recording) -> None:
    """An interrupt that comes meanwhile would otherwise have an entry alone, and never end."""
    order = list(second.sources)
    for name in order:
        end = name.removesuffix("_entry") + "_exit"
        if name.endswith("_entry") and end in second.sources:
            assert order.index(end) < order.index(name)


def test_rings_are_without_gaps(second: Recording) -> None:
    """The driver looks at every number and at the order of the times."""
    assert second.faults == []
    assert all(cpu.events for cpu in second.cpus.values())


def test_stages_are_in_order(second: Recording) -> None:
    """Interrupt, waking, switch: for every time that a measured thread was woken."""
    for cpu in second.cpus.values():
        woken = [stage for stage in cpu.stages if stage.waking_ns]
        assert len(woken) > 100
        for stage in woken:
            assert stage.waking_ns <= stage.switched_ns
            assert stage.timer_ns <= stage.waking_ns
        assert sum(stage.timer_ns != 0 for stage in woken) > 0.9 * len(woken)


def test_stages_agree_with_the_events(second: Recording) -> None:
    """The same switches and wakings are in the ring."""
    for cpu in second.cpus.values():
        first_ns = cpu.events[0].time_ns
        switched = {e.time_ns for e in cpu.events if e.kind == SWITCH and e.d == cpu.pid}
        waking = {e.time_ns for e in cpu.events if e.kind == WAKING and e.c == cpu.pid}
        stages = [
            s for s in cpu.stages if first_ns < min(s.waking_ns or s.switched_ns, s.switched_ns)
        ]
        assert {stage.switched_ns for stage in stages} <= switched
        assert {stage.waking_ns for stage in stages if stage.timer_ns} <= waking | {0}


def test_a_wakeup_begins_with_the_entry_of_its_interrupt(second: Recording) -> None:
    """timer_ns is when an interrupt or vector was entered."""
    for cpu in second.cpus.values():
        first_ns = cpu.events[0].time_ns
        entered = {e.time_ns for e in cpu.events if e.kind in (IRQ_ENTRY, VECTOR_ENTRY)}
        timers = {stage.timer_ns for stage in cpu.stages if stage.timer_ns > first_ns}
        assert timers
        assert timers <= entered


def executions(cpu: Cpu) -> dict[int, list[tuple[int, int]]]:
    """Return when interrupts and softirqs began, and how long each was, by the place of maxima.

    Without what interrupted it; 0 for one without its exit, and before the first switch, from
    which on a CPU's time is accounted for. Replayed from the events.
    """
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    inside: list[list[int]] = []
    outermost: list[tuple[int, int]] = []
    switched = False
    for event in cpu.events:
        switched = switched or event.kind == SWITCH
        place = {
            VECTOR_ENTRY: event.a, VECTOR_EXIT: event.a,
            SOFTIRQ_ENTRY: 16 + event.a, SOFTIRQ_EXIT: 16 + event.a,
            IRQ_ENTRY: 32 + event.c % 64, IRQ_EXIT: 32 + event.c % 64,
        }.get(event.kind)  # fmt: skip
        if event.kind in (IRQ_ENTRY, VECTOR_ENTRY, SOFTIRQ_ENTRY):
            assert place is not None
            # What interrupts the program that records a softirq's entry is recorded before it.
            early_ns = sum(ns for began_ns, ns in outermost[-8:] if began_ns >= event.time_ns)
            inside.append([place, event.time_ns, early_ns, len(found[place])])
            found[place].append((event.time_ns, 0))
        elif place is not None and inside and inside[-1][0] == place:
            _, began_ns, inner_ns, index = inside.pop()
            if switched:
                found[place][index] = began_ns, event.time_ns - began_ns - inner_ns
            if inside:
                inside[-1][2] += event.time_ns - began_ns
            else:
                outermost.append((began_ns, event.time_ns - began_ns))
    return found


def longest_in_a_row(lengths_ns: Sequence[int], row: int) -> int:
    """Return the longest total of so many in a row, or of all where there are fewer."""
    return max(
        sum(lengths_ns[place : place + row]) for place in range(max(1, len(lengths_ns) - row + 1))
    )


def test_maxima_are_those_of_the_events(driver: Path) -> None:
    """Of each interrupt and softirq: how often it came, the longest, and how densely it came.

    More comes once the ring has been read, so that a few are denser or longer than in it.
    """
    spans, lengths = [], []
    for cpu in record(driver, 1, f"ring={16 << 20}").cpus.values():
        whole = cpu.recorded == len(cpu.events)
        for place, of_place in executions(cpu).items():
            maximum = cpu.maxima[place]
            began = [began_ns for began_ns, _ in of_place]
            assert maximum.arrivals >= len(began)
            longest_ns = max(ns for _, ns in of_place)
            assert maximum.longest_ns >= 0.9 * longest_ns - 2_000
            totals_ns = [longest_in_a_row([ns for _, ns in of_place], row) for row in ROWS]
            for row, seen_ns, in_ring_ns in zip(ROWS, maximum.totals_ns, totals_ns, strict=True):
                assert seen_ns >= 0.9 * in_ring_ns - 2_000 * row
                assert maximum.longest_ns <= seen_ns <= row * maximum.longest_ns
            if whole:
                lengths.append(maximum.longest_ns <= 1.1 * longest_ns + 2_000)
                lengths += [
                    seen_ns <= 1.1 * in_ring_ns + 2_000 * row
                    for row, seen_ns, in_ring_ns in zip(
                        ROWS, maximum.totals_ns, totals_ns, strict=True
                    )
                ]
            for index, gaps in enumerate(GAPS):
                more = gaps if index < EXACT else gaps + 15
                in_ring = [late - early for early, late in zip(began, began[more:], strict=False)]
                if in_ring:
                    assert maximum.spans_ns[index] <= min(in_ring)
                if in_ring and whole:
                    least = min(in_ring) if index < EXACT else 0.7 * min(in_ring)
                    spans.append(maximum.spans_ns[index] >= least)
    assert len(spans) > 10
    assert sum(spans) >= 0.8 * len(spans)
    assert sum(lengths) >= 0.8 * len(lengths)


@pytest.mark.parametrize(
    ("entry", "leave", "name"),
    [
        (IRQ_ENTRY, IRQ_EXIT, "c"),
        (VECTOR_ENTRY, VECTOR_EXIT, "a"),
        (TIMER_ENTRY, TIMER_EXIT, "f"),
    ],
)
def test_each_entry_has_its_exit(second: Recording, entry: int, leave: int, name: str) -> None:
    """What begins inside of another (a timer of a softirq, say) ends before it."""
    for cpu in second.cpus.values():
        inside: list[int] = []
        ends = alone = 0
        for event in cpu.events:
            if event.kind == entry:
                inside.append(getattr(event, name))
            elif event.kind == leave:
                ends += 1
                if getattr(event, name) in inside[-1:]:
                    inside.pop()
                else:
                    alone += 1
                    inside.clear()
        # One at the ring's beginning; and see HIDDEN.
        assert alone <= 1 + HIDDEN * ends


def test_sums_add_up_to_the_time_between(second: Recording) -> None:
    """Whatever was not the measured thread's own time is in one of the sums, and in one only."""
    for cpu in second.cpus.values():
        first_ns = cpu.events[0].time_ns
        stages = [stage for stage in cpu.stages if stage.switched_ns > first_ns]
        begin, end = stages[0], stages[-1]
        switches = [
            event
            for event in cpu.events
            if event.kind == SWITCH and begin.switched_ns <= event.time_ns <= end.switched_ns
        ]
        own_ns = hidden_ns = breaks = 0
        for first, then in pairwise(switches):
            length_ns = then.time_ns - first.time_ns
            if first.d != then.c:
                # A switch between them is hidden: whose time this was is not known.
                breaks += 1
                hidden_ns += length_ns
            elif first.d == cpu.pid:
                own_ns += length_ns
        assert breaks <= 1 + HIDDEN * len(switches)
        wall_ns = end.switched_ns - begin.switched_ns
        summed_ns = sum(end.sums[i] - begin.sums[i] for i in range(SUMS) if i != STEAL)
        assert abs(summed_ns + own_ns - wall_ns) <= 0.03 * wall_ns + hidden_ns
        # One falls where an interrupt came while another place was accounted for, whose time is
        # then taken back from it (account_preemptible).
        fell = [
            any(x > y for x, y in zip(before.sums, after.sums, strict=True))
            for before, after in pairwise(cpu.stages)
        ]
        assert sum(fell) <= 1 + len(fell) // 100


def record_a_storm(
    driver: Path, seconds: float, copied: Callable[[Recording], int], *options: str
) -> Recording:
    """Record a switch storm; skips where not enough of the ring of its CPU was copied.

    What was written while a ring was copied is no longer in the copy: that is much where this
    machine took the CPU meanwhile. copied: how many events were looked for in the copy.
    """
    for _ in range(ATTEMPTS):
        with switch_storm():
            recording = record(driver, seconds, *options)
        if copied(recording) > 0.2 * recording.stormy.ring:
            return recording
    pytest.skip("this machine took the CPU each time that a ring was copied")


def test_a_switch_storm_loses_nothing(driver: Path) -> None:
    """The ring is full to the last event, and who runs next is who ran before the next switch."""

    def copied(recording: Recording) -> int:
        # One that should be there and is not is a fault.
        return len(recording.stormy.events) + len(recording.faults)

    recording = record_a_storm(driver, 1, copied, "ring=200000")
    assert recording.faults == []
    assert recording.missed == 0
    assert recording.stormy.recorded > 10 * 4096
    for cpu in recording.cpus.values():
        assert cpu.ring == 4096
        switches = [event for event in cpu.events if event.kind == SWITCH]
        breaks = sum(first.d != then.c for first, then in pairwise(switches))
        assert breaks <= HIDDEN * len(switches)


def test_a_held_window_is_not_overwritten(driver: Path) -> None:
    """Windows stay while the rest of the ring is written anew many times; nobody looks meanwhile.

    The first half's are released then, so that as many of the second half find room.
    """

    def copied(recording: Recording) -> int:
        # Chunks that were overwritten between held ones are faults here.
        return len(recording.stormy.events)

    recording = record_a_storm(driver, 2, copied, "ring=200000", "want=40")
    assert recording.missed == 0
    stormy = recording.stormy
    assert stormy.recorded > 10 * stormy.ring
    # Half of 16 chunks, and a window has two at the least here.
    assert 4 <= stormy.holds <= 16
    # Each that was wanted was held, or counted.
    assert 0.5 * 2000 / 40 < stormy.holds + stormy.not_held <= recording.took_s * 1000 / 40
    kept = [window for window in stormy.windows if window.complete]
    assert 2 <= len(kept) <= stormy.holds
    # The oldest are there, and have more than the newest chunk's events behind them.
    assert kept[0] == stormy.windows[0]
    assert kept[0].run_ns < stormy.events[0].time_ns
    assert all(window.events for window in kept)
    assert not all(window.complete for window in stormy.windows)


def test_nothing_is_recorded_of_late_timers_that_nobody_wants(driver: Path) -> None:
    """What a late timer interrupted is looked at, and recorded only with a window."""
    with busy_in_the_kernel():
        recording = record(driver, 1, "stack=50000000")
    assert not any(event.kind == STACK for cpu in recording.cpus.values() for event in cpu.events)


def test_late_wakeups_get_their_stack(driver: Path) -> None:
    """With a threshold below any latency each timer has the instruction that it interrupted."""
    with busy_in_the_kernel():
        recording = record(driver, 1, "stack=500", "want=1")
    # Chunks between held ones are overwritten.
    assert all(" nothing at " in fault for fault in recording.faults)
    stacks = known = 0
    for cpu in recording.cpus.values():
        for at, event in enumerate(cpu.events):
            if event.kind != STACK:
                continue
            stacks += 1
            # User code has no stack in the kernel, and its address is nobody's business.
            assert not event.a & 0x80 or (event.b, event.e, event.f) == (0, 0, 0)
            frames = cpu.events[at + 1 : at + 1 + (event.b + 1) // 2]
            if len(frames) < (event.b + 1) // 2:
                continue
            assert all(frame.kind == FRAMES for frame in frames)
            if event.a & 0x7F == 1 and event.e >> 63:
                known += 1
                assert event.f
                # A stack begins with the instruction; a caller alone does not.
                assert not frames or event.b == 1 or frames[0].e == event.e
    assert stacks > 100
    assert known > 10


def test_the_stack_of_who_had_the_cpu_before_is_taken_once_the_thread_is_done(
    driver: Path,
) -> None:
    """It has the time of the switch, adds nothing to the latency, and comes after the next one."""
    with busy_in_the_kernel():
        recording = record(driver, 1, "stack=500", "want=1")
    later = 0
    for cpu in recording.cpus.values():
        switches = {event.time_ns: event for event in cpu.events if event.kind == SWITCH}
        left_at = {event.time_ns for event in switches.values() if event.c == cpu.pid}
        for event in cpu.events:
            if event.kind != STACK or event.a != 2 or event.d or event.time_ns not in switches:
                continue
            later += 1
            assert event.b
            assert (switches[event.time_ns].c, switches[event.time_ns].d) == (event.c, cpu.pid)
            after = [switch for switch in switches.values()
                     if event.time_ns < switch.time_ns and switch.time_ns in left_at]  # fmt: skip
            assert not after or min(switch.seq for switch in after) < event.seq
    assert later > 10


def test_a_slightly_late_timer_records_the_instruction_without_its_callers(
    driver: Path,
) -> None:
    """A stack takes long; whether the kernel held the timer up shows without."""
    with busy_in_the_kernel():
        recording = record(driver, 1, "stack=50000000", "want=1")
    looked = [event for cpu in recording.cpus.values() for event in cpu.events
              if event.kind == STACK and event.a & 0x7F == 1]  # fmt: skip
    assert len(looked) > 10
    assert {event.b for event in looked} == {0}
    assert any(event.a & 0x80 or event.e >> 63 for event in looked)
    assert not any(event.kind == FRAMES for cpu in recording.cpus.values() for event in cpu.events)


def test_the_cost_is_reported(driver: Path) -> None:
    """The kernel measures the programs when it is asked to. A hypervisor's pauses are in it."""
    recording = record(driver, 1, "cost", "quiet")
    assert recording.runs > 1000
    # Instructions that the kernel's verifier went through, which an emulated board does at length.
    assert len(recording.verified) > 15
    assert max(recording.verified.values()) < 20_000
    assert 10 < recording.run_ns / recording.runs < 5000


def bpf_program_is_there(number: int) -> bool:
    """Whether the kernel knows a BPF program of that number."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint32 * 3)(number, 0, 0)
    call = BPF_CALL[platform.machine()]
    descriptor = libc.syscall(
        ctypes.c_long(call), BPF_PROG_GET_FD_BY_ID, attributes, ctypes.sizeof(attributes)
    )
    if descriptor < 0:
        assert ctypes.get_errno() == errno.ENOENT
        return False
    os.close(descriptor)
    return True


def test_nothing_is_left_of_a_killed_recorder(driver: Path) -> None:
    """Programs and rings hang on descriptors alone."""
    with subprocess.Popen([driver, "bpf", "30"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        numbers = programs_of(process.pid)
        assert len(numbers) > 10
        assert all(map(bpf_program_is_there, numbers))
        process.kill()
    # The kernel frees them after a grace period.
    until = time.monotonic() + 10
    while any(map(bpf_program_is_there, numbers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(bpf_program_is_there, numbers))


def test_missing_privileges_are_reported(driver: Path) -> None:
    """One line, and nothing is running."""
    # Where another user can reach it: the tests' own folders are closed.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        mine = Path(folder) / "driver"
        shutil.copy(driver, mine)
        done = subprocess.run(
            [mine, "bpf", "1"], check=False, capture_output=True, text=True, timeout=60, user=65534
        )
    assert done.returncode == 1
    assert "BPF needs root, or CAP_BPF and CAP_PERFMON" in done.stderr
