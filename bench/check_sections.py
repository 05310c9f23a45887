"""Are the classes of longer executions those that ftrace shows? On this machine, as root.

`make bench-check_sections ARGS='--for 20'`

A program reads /dev/zero in pieces of one size on one CPU, alone or beside a program that takes the
CPU from it. `whylate section` times the reads. An instance of ftrace of its own records switches of
threads and interrupts there, by which each longer execution is classed again by the same rule: the
part that has half of what it took beyond the mean of the others.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rates import rate
from whylate.recording.reader import open_recording
from whylate.recording.store.executions import Executions
from whylate.stats.executions.parts import REST, TIMES, Times, find_classes

Int64s = NDArray[np.int64]

INSTANCE = Path("/sys/kernel/tracing/instances/check-sections")
EVENTS = ("sched/sched_switch", "irq", "irq_vectors")
SECTION = "raw_syscalls:sys_enter..raw_syscalls:sys_exit if id==0"
NAME = "whylate-reads"
#: By class: the column of the probe, and what it takes to be observed.
PARTS = {
    "interrupted": ("interrupted_ns", "interrupts"),
    "preempted": ("preempted_ns", "switches"),
    "asleep": ("slept_ns", "switches"),
}
_EVENT = re.compile(r"\s(\d+)\.(\d{6}): (\w+): (.*)$")
_SWITCH = re.compile(r"prev_comm=(.*) prev_pid=\d+ .*prev_state=(\S+) ==> next_comm=(.*) next_pid=")


@contextmanager
def ftrace(cpu: int) -> Iterator[Path]:
    """Record switches and interrupts of a CPU in an instance that ends with this."""
    INSTANCE.mkdir()
    try:
        (INSTANCE / "trace_clock").write_text("mono")
        (INSTANCE / "buffer_size_kb").write_text("65536")
        (INSTANCE / "tracing_cpumask").write_text(f"{1 << cpu:x}")
        for event in EVENTS:
            (INSTANCE / "events" / event / "enable").write_text("1")
        yield INSTANCE
    finally:
        INSTANCE.rmdir()


@dataclass
class Seen:
    """Stretches of a thread, ns: begin and end of each, by class."""

    stretches: dict[str, list[tuple[int, int]]]
    first_ns: int
    last_ns: int

    def spent(self, name: str, begin_ns: Int64s, end_ns: Int64s) -> Int64s:
        """Return how much of each execution a class has, int64 ns."""
        stretches = np.array(self.stretches[name] or [(0, 0)], np.int64)
        begins, ends = stretches.T
        until = np.concatenate(([0], np.cumsum(ends - begins)))

        def before(times: Int64s) -> Int64s:
            at = np.searchsorted(begins, times, "right")
            whole: Int64s = until[at]
            last = np.maximum(at - 1, 0)
            over = np.where(at > 0, np.maximum(ends[last] - times, 0), 0)
            return whole - over

        return before(end_ns) - before(begin_ns)


class _Reader:
    """Follows a thread of NAME and the interrupts of its CPU, event by event."""

    def __init__(self) -> None:
        self.stretches: dict[str, list[tuple[int, int]]] = {name: [] for name in PARTS}
        self._off: tuple[int, str] | None = None
        self._on = True
        self._depth = self._began = 0

    def switch(self, now: int, text: str) -> None:
        """Take a switch of threads."""
        found = _SWITCH.search(text)
        if found is None:
            return
        if found[1] == NAME:
            self._off = (now, "preempted" if found[2].startswith("R") else "asleep")
            self._on = False
        if found[3] == NAME:
            if self._off is not None:
                self.stretches[self._off[1]].append((self._off[0], now))
            self._off, self._on = None, True

    def interrupt(self, now: int, event: str) -> None:
        """Take the begin or the end of an interrupt or softirq, which may lie within others."""
        if event.endswith("_entry"):
            self._depth += 1
            self._began = now if self._depth == 1 else self._began
        elif event.endswith("_exit") and self._depth:
            self._depth -= 1
            if not self._depth and self._on:
                self.stretches["interrupted"].append((self._began, now))


def read_trace(lines: Sequence[str]) -> Seen:
    """Return what a thread of NAME did, by the events of its CPU."""
    reader = _Reader()
    first = now = 0
    for line in lines:
        match = _EVENT.search(line)
        if match is None:
            continue
        now = 1_000 * (1_000_000 * int(match[1]) + int(match[2]))
        first = first or now
        if match[3] == "sched_switch":
            reader.switch(now, match[4])
        else:
            reader.interrupt(now, match[3])
    return Seen(reader.stretches, first, now)


def run(cpu: int, seconds: float, bytes_each: str, *, busy: bool) -> tuple[Path, Seen]:
    """Time a program's reads, with ftrace beside it; return the recording and what it shows."""
    folder = Path(tempfile.mkdtemp(prefix="check-sections-"))
    program = folder / NAME
    shutil.copy("/bin/dd", program)
    reads = ["taskset", "-c", str(cpu), str(program), "if=/dev/zero", "of=/dev/null",
             f"bs={bytes_each}"]  # fmt: skip
    # Takes the CPU now and then, and sleeps in between.
    other = ["taskset", "-c", str(cpu), "sh", "-c", "while :; do sleep 0.05; seq 3000; done"]
    with ftrace(cpu) as instance:
        programs = [subprocess.Popen(reads, stderr=subprocess.DEVNULL)]
        if busy:
            programs.append(subprocess.Popen(other, stdout=subprocess.DEVNULL))
        try:
            measured = subprocess.run(
                [sys.executable, "-m", "whylate", "section", SECTION, "--comm", NAME, "--one-in",
                 "1", "--for", f"{seconds}s", "-o", str(folder / "recording")],
                check=False, capture_output=True, text=True,
            )  # fmt: skip
        finally:
            for each in programs:
                each.kill()
                each.wait()
        if not (folder / "recording" / "manifest.json").exists():
            raise SystemExit(measured.stderr)
        seen = read_trace((instance / "trace").read_text().splitlines())
    return folder / "recording", seen


@dataclass(frozen=True)
class Checked:
    """Longer executions, by whylate and by ftrace.

    count: executions. ours, theirs: the class of each. clear: bool, whether by ftrace the largest
    part has less than 40 % or more than 60 % of the excess. apart_ns: how far each part is from
    that of ftrace, int64, shape (longer, parts).
    """

    count: int
    ours: list[str]
    theirs: list[str]
    clear: list[bool]
    apart_ns: Int64s


def check(recording: Path, seen: Seen) -> Checked:
    """Class each longer execution by whylate's parts and by those of ftrace."""
    opened = open_recording(recording)
    executions, report = opened.executions, opened.manifest.section
    if executions is None or report is None:
        raise SystemExit(f"{recording} is of no section")
    missing = [name for name, (_, part) in PARTS.items() if part not in report.observed]
    if missing:
        raise SystemExit(f"not observed here: {', '.join(missing)}")
    durations = np.concatenate([rows for cpu in opened.series for rows, _ in cpu.chunks()])
    longer, others, _ = executions.split(int(TIMES * np.median(durations)), 1)
    long, rest = (_within(rows, seen) for rows in (longer, others))
    if not long.began_ns.size or not rest.began_ns.size:
        raise SystemExit("ftrace has none of these executions: its buffer was too small")
    by_trace = _by_trace(long, seen), _by_trace(rest, seen)
    names = (*PARTS, REST)
    excess = by_trace[0].spent() - by_trace[1].spent().mean(axis=0)
    part = excess[:, :-1].max(axis=1) / excess.sum(axis=1)
    return Checked(
        long.began_ns.size + rest.began_ns.size,
        [names[place] for place in find_classes(long, rest).tolist()],
        [names[place] for place in find_classes(*by_trace).tolist()],
        (np.abs(part - 0.5) > 0.1).tolist(),
        np.abs(long.parts - by_trace[0].parts),
    )


def _within(rows: Executions, seen: Seen) -> Times:
    """Return the executions during which ftrace recorded, with whylate's parts."""
    end_ns = rows.began_ns + rows.duration_ns
    inside = (rows.began_ns >= seen.first_ns) & (end_ns <= seen.last_ns)
    columns = [rows.part(column)[inside] for column, _ in PARTS.values()]
    return Times(rows.began_ns[inside], rows.duration_ns[inside], np.column_stack(columns))


def _by_trace(times: Times, seen: Seen) -> Times:
    end_ns = times.began_ns + times.duration_ns
    spent = [seen.spent(name, times.began_ns, end_ns) for name in PARTS]
    return Times(times.began_ns, times.duration_ns, np.column_stack(spent))


def rows_of(beside: str, checked: Checked) -> Iterator[str]:
    """Yield lines of a table."""
    triples = list(zip(checked.ours, checked.theirs, checked.clear, strict=True))
    for name in (*PARTS, REST):
        same = [ours == name for ours, theirs, _ in triples if theirs == name]
        clear = [ours == name for ours, theirs, is_clear in triples if theirs == name and is_clear]
        if same:
            yield (f"| {beside} | {name} | {len(same):,} | {rate(same)} | "
                   f"{rate(clear) if clear else '–'} |")  # fmt: skip
    yield (
        f"| {beside} | all, of {checked.count:,} executions | {len(triples):,} | "
        f"{rate([ours == theirs for ours, theirs, _ in triples])} | "
        f"{rate([ours == theirs for ours, theirs, is_clear in triples if is_clear])} |"
    )
    part = np.quantile(checked.apart_ns.max(axis=1), [0.5, 0.99]) / 1_000
    yield f"| {beside} | parts apart: median {part[0]:.1f} µs, p99 {part[1]:.1f} µs | | | |"


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="seconds", type=float, default=20)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--bytes", default="64k")
    options = parser.parse_args()
    print("| beside it | by ftrace | longer | same class | same, where it is not near half |")
    print("|---|---|---|---|---|")
    for busy in (False, True):
        recording, seen = run(options.cpu, options.seconds, options.bytes, busy=busy)
        for line in rows_of("a program" if busy else "nothing", check(recording, seen)):
            print(line, flush=True)
        shutil.rmtree(recording.parent)


if __name__ == "__main__":
    main()
