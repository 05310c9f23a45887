"""What is said of a section's executions and locks, from journals that are written by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from section_journals import Execution, result

from section_examples import (
    MUTEX,
    PERCPU,
    READ,
    RT,
    SPIN,
    USUAL_NS,
    WRITE,
    executions,
    floor,
    lock,
    recorded,
)
from whylate.compare.bound import bound
from whylate.recording.errors import LackingError
from whylate.summary.as_json import to_json
from whylate.summary.model import LockFigures
from whylate.summary.sections import section_cautions
from whylate.summary.summarize import summarize
from whylate.wire.constants import ExecutionPart
from whylate.wire.messages import Message

#: Of what longer executions took beyond the others, ns: section_examples.LONGER.
EXCESS_NS = 8 * 10_000 + 6 * 8_000 + 4 * 4_000 + 2 * 2_000
#: Parts that few boards show.
NEWER = ["time of page faults", "steal"]


def locks_of(directory: Path, *waits: Message) -> list[LockFigures]:
    return recorded(directory / "r", *waits).section.locks


def test_longer_executions_are_classed_by_their_parts(tmp_path: Path) -> None:
    longer = recorded(tmp_path / "r").section.longer
    assert longer is not None
    assert (longer.above_ns, longer.count, longer.of) == (2 * USUAL_NS, 20, 400)
    assert longer.excess_ns == EXCESS_NS
    assert longer.not_observed == []
    assert [(each.name, each.count) for each in longer.classes] == [
        ("asleep", 8),
        ("preempted", 6),
        ("waiting for a lock", 4),
        ("unexplained", 2),
    ]
    shares = [each.share for each in longer.classes]
    # The rest of each longer execution is as long as all of a usual one.
    excess_ns = (80_000, 48_000, 16_000, 4_000)
    assert shares == pytest.approx([part / EXCESS_NS for part in excess_ns])
    for each in longer.classes:
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.share <= each.high
    # The first of each class, as all of it are as long.
    assert [(each.longest_ns, each.number) for each in longer.classes] == [
        (11_000, 10),
        (9_000, 170),
        (5_000, 290),
        (3_000, 370),
    ]
    assert {(each.cpu, each.pid) for each in longer.classes} == {(0, 301)}


def test_executions_whose_parts_are_longer_than_the_whole_are_counted_and_named(
    tmp_path: Path,
) -> None:
    ran = executions()
    ran[3] = Execution(301, ran[3].begin_ns, USUAL_NS, parts=(600, 401, 0, 0))
    counts = []
    for name, each in (("exact", executions()), ("r", ran)):
        section = recorded(tmp_path / name, ran=each).section
        assert section.longer is not None
        counts.append(section.longer.overlapping)
        named = any("longer than the whole" in each.text for each in section_cautions(section))
        assert named == (counts[-1] > 0)
    assert counts == [0, 1]


@pytest.mark.parametrize(
    ("parts", "names", "not_observed"),
    [
        (0, ["unexplained"], ["interrupts", "switches", "locks", *NEWER]),
        (
            ExecutionPart.LOCK,
            ["unexplained", "waiting for a lock"],
            ["interrupts", "switches", *NEWER],
        ),
        # They are counted, and that is no class.
        (ExecutionPart.FAULT, ["unexplained"], ["interrupts", "switches", "locks", *NEWER]),
        (
            ExecutionPart.INTERRUPTED | ExecutionPart.SWITCHED | ExecutionPart.STEAL,
            ["asleep", "preempted", "unexplained"],
            ["locks", "time of page faults"],
        ),
    ],
)
def test_parts_that_are_not_observed_have_no_class_and_are_named(
    tmp_path: Path, parts: int, names: list[str], not_observed: list[str]
) -> None:
    longer = recorded(tmp_path / "r", parts=int(parts)).section.longer
    assert longer is not None
    assert [each.name for each in longer.classes] == names
    assert longer.not_observed == not_observed
    assert sum(each.count for each in longer.classes) == 20
    assert sum(each.share for each in longer.classes) == pytest.approx(1)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        (sum(ExecutionPart), ["page fault", "steal", "unexplained"]),
        (sum(ExecutionPart) - ExecutionPart.STEAL, ["page fault", "unexplained"]),
        (sum(ExecutionPart) - ExecutionPart.FAULT_TIME, ["unexplained", "steal"]),
    ],
)
def test_page_faults_and_steal_are_classes_of_their_own(
    tmp_path: Path, parts: int, names: list[str]
) -> None:
    ran = [Execution(301, 1_000_000 * number, USUAL_NS) for number in range(100)]
    ran += [Execution(301, 200_000_000, 9_000, parts=(0, 0, 0, 0, 3, 8_500)),
            Execution(301, 210_000_000, 8_000, parts=(0, 0, 0, 0, 0, 0, 7_000)),
            Execution(301, 220_000_000, 4_000, parts=(0, 0, 0, 0, 9, 1_000, 1_000))]  # fmt: skip
    longer = recorded(tmp_path / "r", ran=ran, parts=parts).section.longer
    assert longer is not None
    assert [each.name for each in longer.classes] == names
    assert all(each.count == 1 for each in longer.classes if each.name != "unexplained")


def test_where_none_took_longer_there_is_no_class(tmp_path: Path) -> None:
    ran = [Execution(301, 1_000 * number, USUAL_NS) for number in range(100)]
    longer = recorded(tmp_path / "r", ran=ran).section.longer
    assert longer is not None
    assert (longer.count, longer.of, longer.excess_ns, longer.classes) == (0, 100, 0, [])


def test_twice_the_median_is_not_longer(tmp_path: Path) -> None:
    ran = [Execution(301, 1_000 * number, USUAL_NS) for number in range(98)]
    ran += [Execution(301, 200_000, 2 * USUAL_NS), Execution(301, 300_000, 2 * USUAL_NS + 1)]
    longer = recorded(tmp_path / "r", ran=ran).section.longer
    assert longer is not None
    assert (longer.count, longer.of) == (1, 100)


def test_no_execution_at_all_is_no_fault_and_has_no_figure(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", ran=[])
    assert example.section.longer is None
    assert example.section.longest_ns is None
    assert example.section.account is not None
    assert example.section.account.entries == 0
    assert example.summary.trust.verdict == "no verdict"
    (reason,) = example.summary.trust.reasons
    assert reason.startswith("No execution of vfs_read returned")
    assert example.summary.exceedance.above_ns is None
    assert not [caution for caution in example.summary.warnings if caution.code == "section"]


def test_a_run_that_broke_off_has_classes_and_no_account(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", ended=False)
    assert example.section.account is None
    assert example.section.longer is not None
    assert example.section.longer.count == 20


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, []),
        ({"in_flight": 3, "unmatched": 9}, []),
        ({"left": 100}, ["100 executions (20 %) were left without a return that was seen"]),
        ({"too_deep": 1_600}, ["1,600 executions (80 %) were within too many others"]),
        ({"no_room": 400}, ["400 executions (50 %) came while too many threads were in"]),
        ({"left": 1}, ["1 execution (0.25 %) was left without a return that was seen: how"]),
        ({"too_deep": 1}, ["1 execution (0.25 %) was within too many others of its thread: how"]),
        ({"no_room": 1}, ["1 execution (0.25 %) came while too many threads were in the section:"]),
        ({"missed": 1}, ["The kernel did not run a hook once, as where"]),
        ({"missed": 1_234}, ["The kernel did not run a hook 1,234 times"]),
        (
            {"left": 200, "too_deep": 200, "no_room": 200, "missed": 7},
            ["200 executions (20 %) were left", "200 executions (20 %) were within",
             "200 executions (20 %) came", "did not run a hook 7 times"],
        ),
    ],
)  # fmt: skip
def test_executions_without_a_duration_are_a_caution(
    tmp_path: Path, counts: dict[str, int], said: list[str]
) -> None:
    summary = recorded(tmp_path / "r", account=result(400, **counts)).summary
    texts = [caution.text for caution in summary.warnings if caution.code == "section"]
    assert len(texts) == len(said)
    for text, part in zip(texts, said, strict=True):
        assert part in text


def test_where_only_some_have_a_row_there_is_no_bound_above_the_largest(tmp_path: Path) -> None:
    bound = recorded(tmp_path / "r").summary.exceedance
    assert bound.reason is None
    assert bound.above_ns == 11_000
    example = recorded(tmp_path / "s", one_in=1_600)
    bound = example.summary.exceedance
    assert (bound.above_ns, bound.once_in_s, bound.fraction) == (None, None, None)
    # The bin of 11,000 ns ends at 11,264.
    assert example.section.longest_ns == 11_264
    assert bound.reason == "only 1 of 1,600 executions has a row; all took less than 11.3 µs"


@pytest.mark.parametrize(
    ("limit", "one_in", "verdict", "why"),
    [
        ("max<11us", 1_600, "fail", "An execution took 11 µs."),
        ("max<1ms", 1_600, "no verdict", "Only some executions have a row"),
        ("over(1ms)<1/1h", 1_600, "no verdict", "Only some executions have a row"),
        ("max<1ms", 1, "inconclusive", "The longest seen is 11 µs"),
        ("p50<1ms", 1_600, "pass", "p50 is"),
    ],
)
def test_what_is_rare_is_not_judged_by_a_part_of_the_executions(
    tmp_path: Path, limit: str, one_in: int, verdict: str, why: str
) -> None:
    example = recorded(tmp_path / "r", one_in=one_in)
    manifest, series = example.manifest, example.series
    (requirement,) = summarize(series, manifest, "r", [limit]).requirements
    assert requirement.verdict == verdict
    assert requirement.why.startswith(why)


def test_no_rate_is_bounded_by_a_part_of_the_executions(tmp_path: Path) -> None:
    recorded(tmp_path / "r", one_in=8)
    with pytest.raises(LackingError, match="--one-in 1"):
        bound([tmp_path / "r"], None)


def test_the_floor_is_that_before_and_after_the_run(tmp_path: Path) -> None:
    section = recorded(
        tmp_path / "r", floor(0, 110, with_ns=900, without_ns=200), floor(1, 130)
    ).section
    assert section.floor_before is not None
    assert section.floor_after is not None
    assert (section.floor_before.floor_ns, section.floor_after.floor_ns) == (110, 130)
    assert (section.floor_before.with_ns, section.floor_before.without_ns) == (900, 200)
    unknown = recorded(tmp_path / "s", floor(executions=0, floor_ns=0, error=2, text="none"))
    assert unknown.section.floor_before is not None
    assert unknown.section.floor_before.why == "none"
    assert unknown.section.floor_after is None


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (0, "semaphore"),
        (READ, "semaphore for reading"),
        (WRITE, "semaphore for writing"),
        (SPIN, "spin lock"),
        (SPIN | READ, "rwlock for reading"),
        (SPIN | WRITE, "rwlock for writing"),
        (RT, "rt_mutex"),
        (RT | READ, "rt_mutex for reading"),
        (RT | WRITE, "rt_mutex for writing"),
        (PERCPU | READ, "per-CPU semaphore for reading"),
        (PERCPU | WRITE, "per-CPU semaphore for writing"),
        (MUTEX, "mutex"),
        (MUTEX | SPIN, "mutex"),
        (1 << 31, "semaphore"),
    ],
)
def test_the_kind_of_a_lock_is_that_of_its_flags(tmp_path: Path, flags: int, kind: str) -> None:
    (figures,) = locks_of(tmp_path, lock("a", flags=flags))
    assert figures.kind == kind


@pytest.mark.parametrize(
    ("address", "name", "expected"),
    [
        (0, "", None),
        # A name without an address is of no lock.
        (0, "tasklist_lock+0x0", None),
        (0xFFFF_8881_0000_2A40, "", "0xffff888100002a40"),
        (0x1234, "", "0x1234"),
        (0xFFFF_FFFF_8200_A080, "tasklist_lock+0x0", "tasklist_lock"),
        (0xFFFF_FFFF_8200_A080, "some_lock+0x0 [nf_tables]", "some_lock"),
        (0xFFFF_FFFF_8200_A080, "init_task+0x8c0", "init_task+0x8c0"),
        (0xFFFF_FFFF_8200_A080, "a+0x01", "a+0x01"),
    ],
)
def test_a_lock_is_called_by_its_name_or_its_address(
    tmp_path: Path, address: int, name: str, expected: str | None
) -> None:
    (figures,) = locks_of(tmp_path, lock("a", name=name, address=address))
    assert figures.lock == expected


@pytest.mark.parametrize(
    ("names", "callers"),
    [
        (["vfs_write+0x398", "ksys_write+0xba"], ["vfs_write", "ksys_write"]),
        (["__mutex_lock.constprop.0+0x1f1", "anon_pipe_write+0x43"], ["anon_pipe_write"]),
        (
            ["__traceiter_contention_begin+0x2f", "rwsem_down_write_slowpath+0x37f",
             "down_write+0x66", "do_renameat2+0x4ff", "x"],
            ["do_renameat2", "x"],
        ),
        (
            ["bpf_prog_0123_part_lock", "bpf_trace_run2", "__pv_queued_spin_lock_slowpath+0x10e",
             "_raw_spin_lock_irqsave+0x4d", "try_to_wake_up+0x4e"],
            ["try_to_wake_up"],
        ),
        (["queued_read_lock_slowpath", "_raw_read_lock", "a"], ["a"]),
        (["rt_spin_lock+0x1", "rt_mutex_slowlock", "a"], ["a"]),
        (["percpu_down_write+0x1", "__percpu_down_read", "a"], ["a"]),
        (["__down_common", "down", "a"], ["a"]),
        (["native_queued_spin_lock_slowpath", "_raw_spin_lock", "a"], ["a"]),
        (["rtlock_slowlock_locked+0x2", "rt_spin_lock", "a"], ["a"]),
        # What takes locks further out is a caller like others, and so is what only sounds alike.
        (["a", "mutex_lock", "b"], ["a", "mutex_lock", "b"]),
        (["downgrade_write", "a"], ["downgrade_write", "a"]),
        (["try_to_wake_up", "a"], ["try_to_wake_up", "a"]),
        # A name that is not known ends them.
        (["mutex_lock", "a", "", "b"], ["a"]),
        (["a", "", ""], ["a"]),
        # Nothing but locking: the last of it.
        (["_raw_spin_lock", "mutex_lock+0x1"], ["mutex_lock"]),
        (["_raw_spin_lock", ""], ["_raw_spin_lock"]),
        (["", ""], ["?"]),
        (["+0x10"], ["?"]),
        ([], []),
    ],
)  # fmt: skip
def test_callers_begin_above_what_only_locks(
    tmp_path: Path, names: list[str], callers: list[str]
) -> None:
    (figures,) = locks_of(tmp_path, lock(*names))
    assert figures.callers == callers
    assert figures.kind == ("mutex" if names else "")


def test_waits_with_the_same_callers_are_one_and_the_longest_total_is_first(
    tmp_path: Path,
) -> None:
    figures = locks_of(
        tmp_path,
        lock("b", address=1, count=1, total_ns=10, longest_ns=10),
        lock("mutex_lock", "a+0x1", "x", address=1, count=2, total_ns=30, longest_ns=20),
        lock("mutex_lock", "a+0x2", "x", address=1, flags=MUTEX | SPIN, count=3, total_ns=60,
             longest_ns=40),
        lock("a", "x", flags=SPIN, address=1, count=1, total_ns=80, longest_ns=80),
        lock("a", "y", address=1, count=1, total_ns=20, longest_ns=20),
        lock("a", "y", address=2, count=1, total_ns=21, longest_ns=21),
        lock(flags=0, count=5, total_ns=25, longest_ns=5),
    )  # fmt: skip
    assert figures == [
        LockFigures("0x1", "mutex", ["a", "x"], 5, 90, 40),
        LockFigures("0x1", "spin lock", ["a", "x"], 1, 80, 80),
        LockFigures(None, "mutex", ["a", "y"], 2, 41, 21),
        LockFigures(None, "", [], 5, 25, 5),
        LockFigures("0x1", "mutex", ["b"], 1, 10, 10),
    ]
    assert all(first.total_ns >= second.total_ns for first, second in pairwise(figures))


def test_json_has_all_of_it_and_no_control_character(tmp_path: Path) -> None:
    name = "\x1b[2J<img src=x>" + "y" * 4_000
    example = recorded(tmp_path / "r", floor(text="", with_ns=5, without_ns=3),
                       lock("a", name, name=name, address=7), function=name, comm=None)  # fmt: skip
    text = json.dumps(to_json(example.summary), ensure_ascii=False)
    assert all(character.isprintable() for character in text)
    section = json.loads(text)["section"]
    assert len(section["longer"]["classes"]) == 4
    assert section["floor_before"]["with_ns"] == 5
    (figures,) = section["locks"]
    assert figures["lock"].startswith("?[2J<img src=x>yyy")
    assert len(figures["lock"]) <= 128
    assert figures["callers"][0] == "a"
    assert len(figures["callers"][1]) <= 128


def test_rows_are_only_read_for_why_where_there_is_a_median(tmp_path: Path) -> None:
    """Of nineteen executions there is no median, and nothing is longer than twice of it."""
    example = recorded(tmp_path / "r", lock("a"), ran=executions()[:19])
    assert example.summary.together.latency_ns["p50"].value is None
    assert example.section.longer is None
    assert [each.callers for each in example.section.locks] == [["a"]]
