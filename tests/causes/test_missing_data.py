"""What a trace lacks is said, and nothing is named that would need it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from whylate.causes.traces.explain_import import Imported, explain_import
from whylate.recording.traces.watch import Watch

DATA = Path(__file__).parents[1] / "recording/traces/data"
WATCH = Watch(names=frozenset({b"cyclictest"}))


def _without(*tracepoints: bytes, name: str = "trace-cmd.txt") -> Imported:
    lines = [
        line
        for line in (DATA / name).read_bytes().splitlines(keepends=True)
        if not any(b" " + tracepoint in line for tracepoint in tracepoints)
    ]
    return explain_import(io.BytesIO(b"".join(lines)), "t", WATCH, threshold_ns=1)


def _lacks(found: Imported) -> str:
    return "\n".join(f"{missing.what}: {missing.so}" for missing in found.list_missing_data)


def _causes(found: Imported) -> set[str]:
    assert found.answer.population is not None
    return {share.cause.value for share in found.answer.population.causes if share.in_late > 0}


def test_a_trace_with_all_of_it_lacks_neither_interrupts_nor_softirqs() -> None:
    found = _without()
    assert "irq" not in _lacks(found).replace("contention", "")
    assert {"interrupt", "scheduling", "thread"} <= _causes(found)


@pytest.mark.parametrize(
    ("tracepoints", "says"),
    [
        ((b"irq_handler_", b"local_timer_", b"reschedule_", b"call_function_"),
         "interrupts count as what they interrupt"),
        ((b"local_timer_", b"reschedule_", b"call_function_"), "irq_vectors:*"),
        ((b"softirq_",), "softirqs count as the thread"),
    ],
)  # fmt: skip
def test_without_interrupts_or_softirqs_the_quiet_stretches_are_unexplained(
    tracepoints: tuple[bytes, ...], says: str
) -> None:
    found = _without(*tracepoints)
    assert says in _lacks(found)
    assert "unexplained" in _causes(found)
    assert not _causes(found) & {"scheduling", "return"}


def test_timers_that_nobody_saw_start_are_counted_from_their_interrupt() -> None:
    found = _without(b"hrtimer_start")
    assert "timer:hrtimer_start of" in _lacks(found)
    dated = _without()
    assert found.read.seen.undated > 20
    assert dated.read.seen.undated <= 1
    # What the interrupt was late by is not in the latency any more.
    assert found.answer.population is not None
    assert dated.answer.population is not None
    assert found.answer.population.excess_ns < dated.answer.population.excess_ns


def test_without_wakings_the_wakeup_is_taken_and_that_is_said() -> None:
    lines = (DATA / "trace-cmd.txt").read_bytes().replace(b"sched_waking: ", b"sched_wakeup: ")
    found = explain_import(io.BytesIO(lines), "t", WATCH, threshold_ns=1)
    assert "taken at sched_wakeup" in _lacks(found)
    assert found.answer.population is not None


def test_what_was_overwritten_or_cut_off_is_said() -> None:
    text = (DATA / "ftrace.txt").read_bytes()
    found = explain_import(io.BytesIO(text[:-20]), "t", WATCH, threshold_ns=1)
    assert "the file was cut" in _lacks(found)
    assert "rounded" in _lacks(found)
    lines = [line for line in text.splitlines() if b"entries-in-buffer" not in line]
    lines.insert(0, b"# entries-in-buffer/entries-written: 100/5000   #P:2\n")
    found = explain_import(io.BytesIO(b"\n".join(lines)), "t", WATCH, threshold_ns=1)
    assert "4,900 events before the first one" in _lacks(found)
