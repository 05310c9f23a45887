"""The same run, recorded by whylate and by the kernel's ftrace: both tell the same of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.boards.local import LocalBoard
from whylate.causes.traces.trace_pieces import cut_activation
from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.pieces import cut_window
from whylate.recording.activation import Activation
from whylate.recording.events import Reason, Window
from whylate.recording.plan import RunPlan
from whylate.recording.recorder.windows import read_windows
from whylate.recording.traces.cutout import CutOut
from whylate.recording.traces.read import read_trace
from whylate.recording.traces.watch import Watch
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="tracing needs root"),
]

CPU = 0
INTERVAL_NS = 1_000_000
EVENTS = ("sched/sched_switch", "sched/sched_waking", "sched/sched_migrate_task", "irq",
          "irq_vectors/local_timer_entry", "irq_vectors/local_timer_exit",
          "irq_vectors/reschedule_entry", "irq_vectors/reschedule_exit",
          "irq_vectors/call_function_single_entry", "irq_vectors/call_function_single_exit",
          "ipi", "timer/hrtimer_start", "timer/hrtimer_expire_entry",
          "timer/hrtimer_expire_exit", "lock", "nmi")  # fmt: skip
#: What a piece is by the events alone, without stacks and idle states.
CONTEXTS = frozenset({Cause.INTERRUPT, Cause.SOFTIRQ, Cause.NMI, Cause.LOCK, Cause.THREAD})
#: Both write down the same tracepoint, one after the other; the text has whole microseconds.
WAKING_APART_NS = 20_000


@contextmanager
def _traced(place: Path) -> Iterator[Path]:
    """An instance of ftrace's own, which traces one CPU on CLOCK_MONOTONIC."""
    if subprocess.run(["mount", "-t", "tracefs", "nodev", place], check=False).returncode:
        pytest.skip("this kernel has no tracefs")
    instance = place / "instances" / f"agree-{os.getpid()}"
    try:
        instance.mkdir()
        (instance / "tracing_on").write_text("0")
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text("16384")
        (instance / "tracing_cpumask").write_text(f"{1 << CPU:x}")
        for event in EVENTS:
            if (instance / "events" / event).is_dir():
                (instance / "events" / event / "enable").write_text("1")
        (instance / "tracing_on").write_text("1")
        yield instance
    finally:
        instance.rmdir()
        subprocess.run(["umount", place], check=True)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Window], Path]:
    """Windows of our own recorder, and the kernel's text of the same run."""
    folder = tmp_path_factory.mktemp("both")
    text = folder / "trace.txt"
    (folder / "tracefs").mkdir()
    request = RunPlan(
        workload=Wakeup(
            duration_ns=6_000_000_000, interval_ns=INTERVAL_NS, recorder=RecorderPlan("best")
        ),
        cpus=[CPU],
    )
    # An idle CPU may hide from every tracer.
    busy = subprocess.Popen(["taskset", "-c", str(CPU), "sh", "-c", "while :; do :; done"])
    try:
        with _traced(folder / "tracefs") as instance:
            manifest = measure(LocalBoard(), request, folder / "r", Quiet())
            (instance / "tracing_on").write_text("0")
            with text.open("wb") as out, (instance / "trace").open("rb") as trace:
                while chunk := trace.read(1 << 20):
                    out.write(chunk)
    finally:
        busy.kill()
        busy.wait()
    if manifest.recorder is None or manifest.recorder.engine is None:
        pytest.skip("nothing can be recorded here")
    windows = [item for item in read_windows(folder / "r")
               if item.timer_ns is not None and item.waking_ns is not None
               and item.switched_ns is not None and item.observed_ns <= item.due_ns]  # fmt: skip
    return windows, text


def _begins_ns(text: Path) -> int:
    """Return the time of the first event in a text."""
    with text.open() as lines:
        event = next(line for line in lines if not line.startswith("#"))
    match = re.search(r" (\d+)\.(\d{6}): ", event)
    assert match is not None, event
    return int(match[1]) * 10**9 + int(match[2]) * 1000


def _contexts(pieces: tuple[Piece, ...] | list[Piece], start: int, end: int) -> Counter[str]:
    """Return ns by context between a waking and the switch."""
    spent: Counter[str] = Counter()
    for piece in pieces:
        length = min(piece.end_ns, end) - max(piece.start_ns, start)
        if length > 0:
            known = piece.cause in CONTEXTS
            spent[f"{piece.cause} {piece.detail}" if known else "less urgent or idle"] += length
    return spent


def _as_long(ours: Counter[str], theirs: Counter[str], pieces: int) -> bool:
    """Whether each context lasted as long in both; every edge of a text is cut to 1 us."""
    apart = sum(abs(ours[name] - theirs[name]) for name in ours.keys() | theirs.keys()) / 2
    return apart <= 2000 + 1000 * pieces


def _told_alike(ours: Counter[str], theirs: Counter[str]) -> bool:
    """Whether both have the same contexts, but for those that a whole microsecond hides.

    A host that takes the CPU away between the two writing one event down moves that edge by as
    much as it likes, and so what lies on either side of it; it makes nothing up.
    """
    return all(item.keys() >= {name for name, spent in other.items() if spent > 2000}
               for item, other in ((ours, theirs), (theirs, ours)))  # fmt: skip


def test_due_waking_and_what_ran_until_the_switch_are_the_same_in_both(
    both: tuple[list[Window], Path],
) -> None:
    windows, text = both
    pids = frozenset(item.pid for item in windows)
    traced: list[tuple[Activation, tuple[Piece, ...]]] = []

    def take(item: Activation, result: Callable[[Reason, int], CutOut]) -> None:
        traced.append((item, cut_activation(item, result("tail", 0))))

    with text.open("rb") as stream:
        read_trace(stream, "trace.txt", Watch(pids=pids), take)
    apart: list[tuple[Counter[str], Counter[str]]] = []
    compared = 0
    begins_ns = _begins_ns(text)
    for own in windows:
        if own.due_ns - INTERVAL_NS < begins_ns:
            # Its timer may have been started before the text begins, which does not tell when it
            # was due then.
            continue
        assert own.waking_ns is not None
        assert own.switched_ns is not None
        same = [(item, pieces) for item, pieces in traced
                if item.waking_ns is not None
                and abs(item.waking_ns - own.waking_ns) < WAKING_APART_NS]  # fmt: skip
        if len(same) != 1:
            # It was overwritten before the text was read.
            continue
        item, pieces = same[0]
        assert item.waking_ns is not None
        assert abs(item.due_ns - own.due_ns) <= 1000
        compared += 1
        ours = _contexts(cut_window(own), own.waking_ns, own.switched_ns)
        theirs = _contexts(pieces, item.waking_ns, item.run_ns)
        if not (_as_long(ours, theirs, len(pieces)) or _told_alike(ours, theirs)):
            apart.append((ours, theirs))
    assert compared >= 5
    assert len(apart) <= 0.2 * compared, apart[:5]
