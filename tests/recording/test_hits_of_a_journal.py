"""Hits that a probe sends, as a recording keeps them: also of a run that was cut."""

from __future__ import annotations

import errno

import pytest

from whylate.recording.hits import FactLine, HitAssembler, counted, look_up, parse_fact_line
from whylate.recording.manifest import CpuHitCount, Fact, HitReport
from whylate.wire.codec import WireError
from whylate.wire.messages import CpuHits, HitSource, Progress

NAMES = ["do_nanosleep", "facts:boot_kernel contains 6.1", "sched:sched_switch"]
FACTS = [Fact("boot_kernel", "6.1.0-9", "kernel log: Linux version 6.1.0-9")]


def assembled(*messages: HitSource | CpuHits) -> list[HitReport]:
    assembler = HitAssembler(NAMES)
    for message in messages:
        assert assembler.add(message)
    return assembler.reports(FACTS)


def test_counts_of_all_cpus_are_added_up() -> None:
    function, line, tracepoint = assembled(
        HitSource(0, 0, "kprobe"),
        HitSource(1, 0, "tracepoint"),
        CpuHits(3, (7, 100)),
        CpuHits(0, (5, 0)),
    )
    assert function == HitReport(NAMES[0], 12, [CpuHitCount(0, 5), CpuHitCount(3, 7)], how="kprobe")
    assert tracepoint.count == 100
    assert (line.count, line.how) == (1, "kernel log: Linux version 6.1.0-9")


def test_a_function_that_the_kernel_does_not_have_was_never_hit() -> None:
    reason = "this kernel has no function do_nanosleep: it is absent, or inlined"
    function, _, tracepoint = assembled(
        HitSource(0, errno.ENOENT, reason), HitSource(1, 0, "tracepoint"), CpuHits(0, (0, 4))
    )
    assert function == HitReport(NAMES[0], 0, why=reason)
    assert tracepoint.count == 4


def test_what_could_not_be_counted_is_not_zero() -> None:
    function, *_ = assembled(HitSource(0, errno.EPERM, "not root"), CpuHits(0, (0, 4)))
    assert (function.count, function.why) == (None, "not root")


def test_a_run_that_ended_early_has_no_count() -> None:
    for messages in ([], [HitSource(0, 0, "kprobe")]):
        function, line, _ = assembled(*messages)
        assert (function.count, function.why) == (None, "the run ended before it was read")
        assert line.count == 1


def test_other_messages_are_not_of_hits() -> None:
    assert not HitAssembler(NAMES).add(Progress(1, ()))


@pytest.mark.parametrize(
    "message",
    [HitSource(2, 0, ""), CpuHits(0, (1,)), CpuHits(0, (1, 2, 3)), CpuHits(0, (1, 1 << 63))],
)
def test_what_was_not_asked_for_is_refused(message: HitSource | CpuHits) -> None:
    with pytest.raises(WireError):
        HitAssembler(NAMES).add(message)


def test_counts_without_a_plan_are_refused() -> None:
    with pytest.raises(WireError):
        HitAssembler([]).add(CpuHits(0, ()))


@pytest.mark.parametrize(
    ("value", "text", "count"),
    [
        (["quiet", "l2x0=1"], "l2x0=1", 1),
        (["quiet", "l2x0=1"], "quiet l2x0", 1),
        (["quiet"], "loud", 0),
        (False, "no", 1),
        (False, "yes", 0),
        (250, "250", 1),
        (None, "250", None),
    ],
)
def test_a_line_of_the_facts_is_there_or_not(
    value: list[str] | bool | int | None, text: str, count: int | None
) -> None:
    facts = [Fact("f", value, "source")]
    assert look_up("n", FactLine("f", text), facts).count == count
    assert look_up("n", FactLine("g", text), facts).count is None


def test_a_line_is_found_by_what_it_was_read_from() -> None:
    assert look_up("n", FactLine("boot_kernel", "Linux version"), FACTS).count == 1


@pytest.mark.parametrize("name", ["facts:x", "facts: x contains y", "facts:X contains y", "x:y"])
def test_what_is_no_line_of_the_facts_is_counted(name: str) -> None:
    assert parse_fact_line(name) is None
    assert counted([name]) == [name]
