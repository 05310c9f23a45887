"""Policies of ids for address spaces, on traces of a machine with PCID (Linux 6.18, x86).

data/switches: text of ftrace with sched_switch and tlb_flush of CPU 0, packed. tasks-N: `whylate
bench switch --tasks N --cpus 0` beside other work; builds: a build of a kernel and tests.
"""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whylate.cli import whylate
from whylate.predict.address_ids import predict_flushes
from whylate.recording.errors import RecordingError
from whylate.recording.traces import address_spaces
from whylate.recording.traces.address_spaces import SpaceTrace, read_address_spaces

TRACES = Path(__file__).parent / "data" / "switches"


def unpack(name: str) -> bytes:
    return gzip.decompress((TRACES / f"{name}.txt.gz").read_bytes())


def read(text: bytes) -> SpaceTrace:
    return read_address_spaces(io.BytesIO(text), "trace")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(whylate, ["predict", "asid", *map(str, arguments)])


def switch(
    at: int,
    pid: int,
    following: int,
    name: str = "b",
    cpu: int = 0,
    *,
    tgid: int | None = None,
    state: str = "S",
) -> bytes:
    line = (
        f"-{pid} ( {tgid or pid}) [{cpu:03}] d..2. 1.{at:06}: sched_switch: prev_comm=a "
        f"prev_pid={pid} prev_prio=120 prev_state={state} ==> next_comm={name} "
        f"next_pid={following} next_prio=120\n"
    )
    return f"{'a':>16}".encode() + line.encode()


def flush(
    at: int,
    pid: int,
    pages: int,
    reason: int = 0,
    cpu: int = 0,
    *,
    tgid: int | None = None,
    name: str = "a",
) -> bytes:
    line = (
        f"-{pid} ( {tgid or pid}) [{cpu:03}] d..2. 1.{at:06}: tlb_flush: pages:{pages} reason:x "
        f"({reason})\n"
    )
    return f"{name:>16}".encode() + line.encode()


@pytest.mark.parametrize(
    ("name", "flushed"),
    [("tasks-6", 0), ("tasks-7", 2949), ("tasks-8", 2967), ("tasks-12", 2956), ("builds", 473)],
)
def test_what_was_counted_is_within_the_real_policy_s_limits(name: str, flushed: int) -> None:
    text = unpack(name)
    assert text.count(b"pages:-1 reason:flush on task switch") == flushed
    answer = predict_flushes(name, read(text), [], [])
    assert answer.check is not None
    assert answer.check.counted == flushed
    simulated = answer.check.simulated
    assert simulated.least <= flushed <= simulated.flushes
    # And it is no accident of wide limits: six ids on one CPU are all that is not known.
    assert simulated.flushes - simulated.least <= 6
    assert answer.unread == 0


def test_another_number_of_ids_would_be_seen_in_the_count() -> None:
    for name, ids in (("tasks-6", 5), ("tasks-7", 7), ("builds", 8)):
        answer = predict_flushes(name, read(unpack(name)), [ids], ["in-turn"])
        assert answer.check is not None
        assert abs(answer.policies[0].flushes / max(answer.check.counted, 6) - 1) > 0.1


def test_more_ids_and_generations_flush_less() -> None:
    trace = read(unpack("tasks-7"))
    answer = predict_flushes("t", trace, [6, 8, 16], ["in-turn", "lru", "generations"])
    flushes = {(made.policy, made.ids): made.flushes for made in answer.policies}
    assert flushes["in-turn", 8] < 0.1 * flushes["in-turn", 6]
    assert flushes["lru", 16] <= flushes["in-turn", 16] < flushes["in-turn", 8]
    assert flushes["generations", 16] < flushes["in-turn", 16]
    assert [refused.ids for refused in answer.no_model] == [6]
    assert "2^bits" in answer.no_model[0].reason


def test_a_flush_without_a_switch_is_of_a_new_program_in_the_same_process() -> None:
    lines = [switch(1, 1, 2), flush(2, 1, -1), flush(3, 2, -1), switch(4, 2, 1), flush(5, 2, 0)]
    spaces = read(b"".join(lines))
    assert spaces.mm.tolist() == [0, 1, 2]
    assert (spaces.flushed, spaces.threads, spaces.spaces) == (2, 2, 3)


def test_threads_of_one_process_and_of_the_kernel_have_no_address_space_of_their_own() -> None:
    threads = b"".join([
        switch(1, 1, 2), flush(2, 1, -1), switch(3, 2, 9, "kworker/0:1"), switch(4, 9, 2),
        switch(5, 2, 1), flush(6, 2, 0),
    ])  # fmt: skip
    spaces = read(threads)
    assert spaces.mm.tolist() == [0, 1]
    assert spaces.threads == 4
    # A kernel without tlb_flush: by the threads' names.
    without = read(b"".join(line + b"\n" for line in threads.splitlines() if b"sched" in line))
    assert without.flushed is None
    assert without.mm.tolist() == [0, 0, 1]
    answer = predict_flushes("t", without, [8], ["generations"])
    assert answer.check is None
    assert any("without tlb_flush" in text for text in answer.supposes)


def test_a_program_that_starts_after_a_kernel_thread_has_a_new_address_space() -> None:
    borrowed = [switch(3, 2, 9, "kworker/0:1"), switch(4, 9, 2)]
    before = [switch(1, 1, 2), flush(2, 1, -1), *borrowed]
    spaces = read(b"".join([*before, flush(5, 2, -1), switch(6, 2, 1), flush(7, 2, 0)]))
    assert spaces.mm.tolist() == [0, 1, 2]
    # The kernel's thread flushes for the thread that comes: that is no new program.
    assert read(b"".join([*before, flush(5, 9, -1)])).mm.tolist() == [0, 0]


def test_a_thread_is_of_its_process_from_the_first_switch_to_it() -> None:
    # Threads 2 and 3 of process 2: only later lines show whose they are.
    lines = [
        switch(1, 1, 3), flush(2, 1, -1), switch(3, 3, 1, tgid=2), flush(4, 3, 0, tgid=2),
        switch(5, 1, 2), flush(6, 1, 0), switch(7, 2, 1), flush(8, 2, 0),
    ]  # fmt: skip
    spaces = read(b"".join(lines))
    first, other = spaces.mm.tolist()[:2]
    assert spaces.mm.tolist() == [first, other, first, other]
    without = read(b"".join(line for line in lines if b"sched_switch" in line))
    assert len(set(without.mm.tolist())) == 2
    # The process has a number already when the thread comes.
    late = [switch(1, 1, 2), flush(2, 1, -1), switch(3, 2, 1), flush(4, 2, -1)]
    late += [switch(5, 1, 3), flush(6, 1, 0), switch(7, 3, 1, tgid=2), flush(8, 3, 0, tgid=2)]
    assert read(b"".join(late)).mm.tolist() == [0, 1, 0, 1]


def test_a_thread_that_leaves_no_events_is_noticed_by_who_comes_next() -> None:
    # The switch from 2 to 3 is lacking: 3 runs next.
    known = [
        switch(1, 1, 3), flush(2, 1, -1), switch(3, 3, 1), flush(4, 3, -1),
        switch(5, 1, 2), flush(6, 1, -1),
    ]  # fmt: skip
    spaces = read(b"".join([*known, switch(7, 3, 1), flush(8, 3, 0)]))
    assert spaces.mm.tolist() == [0, 1, 2, 0, 1]
    assert spaces.seen.tolist() == [False, False, False, True, False]
    # A change of what the CPU has shows it too; one of an unknown kind, or by the kernel, does not.
    changed = read(b"".join([*known, flush(7, 3, 1, reason=3)]))
    assert (changed.mm.tolist(), changed.seen.tolist()[3]) == ([0, 1, 2, 0, 0], True)
    assert not read(b"".join([*known, flush(7, 3, 1, reason=4)])).seen.any()
    by_kernel = read(b"".join([*known, flush(7, 9, 1, reason=3, name="kworker/0:1")]))
    assert by_kernel.mm.tolist() == [0, 1, 2]


def test_a_thread_of_the_kernel_that_leaves_is_not_taken_for_its_address_space() -> None:
    # "loop0" is no name that is known for the kernel's; no event ever gave it an address space.
    lines = [switch(1, 1, 2), flush(2, 1, -1), switch(3, 2, 9, "loop0"), switch(4, 9, 1)]
    spaces = read(b"".join([*lines, flush(5, 9, -1)]))
    assert len(set(spaces.mm.tolist())) == 2
    assert not spaces.seen.any()
    # A kworker used one for a while.
    lines = [switch(1, 1, 9, "kworker/0:1"), flush(2, 1, -1), switch(3, 9, 2), flush(4, 9, -1)]
    lines += [switch(5, 2, 9, "kworker/0:1"), switch(6, 9, 2).replace(b"=a ", b"=kworker/0:1 ")]
    assert not read(b"".join(lines)).seen.any()


@pytest.mark.parametrize("pages", [0, -1])
def test_a_process_that_ends_goes_over_to_the_kernel_s_address_space(pages: int) -> None:
    def end(at: int, pid: int) -> list[bytes]:
        return [flush(at, pid, pages), switch(at + 1, pid, 1, state="Z"), flush(at + 2, pid, 0)]

    lines = [switch(1, 1, 2), flush(2, 1, -1), *end(3, 2)]
    lines += [switch(6, 1, 3), flush(7, 1, -1), *end(8, 3)]
    mm = read(b"".join(lines)).mm.tolist()
    kernel = mm[1]
    assert mm[1::3] == [kernel, kernel]
    assert mm[2] == mm[5]
    assert len(set(mm)) == 4
    assert not read(b"".join(lines)).seen.any()


def test_a_thread_that_is_preempted_while_it_ends_has_no_address_space() -> None:
    lines = [switch(1, 1, 2), flush(2, 1, -1), flush(3, 2, 0), switch(4, 2, 9, "kworker/0:1",
             state="R+"), switch(5, 9, 2), switch(6, 2, 1, state="Z"), flush(7, 2, 0)]  # fmt: skip
    spaces = read(b"".join(lines))
    assert not spaces.seen.any()
    assert len(set(spaces.mm.tolist())) == 3
    # A later process with that number has one.
    later = [switch(8, 1, 2), flush(9, 1, -1), switch(10, 2, 1), flush(11, 2, 0)]
    assert read(b"".join([*lines, *later, switch(12, 2, 1)])).seen.any()


def test_a_process_whose_other_thread_ends_keeps_its_address_space() -> None:
    lines = [
        switch(1, 1, 3), flush(2, 1, -1), flush(3, 3, -1, tgid=2),
        switch(4, 3, 1, tgid=2, state="X"), flush(5, 3, -1, tgid=2),
        switch(6, 1, 2), flush(7, 1, 0),
    ]  # fmt: skip
    mm = read(b"".join(lines)).mm.tolist()
    assert mm[0] == mm[3]
    assert len(set(mm)) == 3


def test_a_cpu_in_lazy_mode_that_is_interrupted_gets_the_kernel_s_address_space() -> None:
    lines = [
        switch(1, 1, 2), flush(2, 1, -1), switch(3, 2, 9, "kworker/0:1"),
        flush(4, 9, -1, name="kworker/0:1"), switch(5, 9, 2), flush(6, 9, -1, name="kworker/0:1"),
        switch(7, 2, 0, "swapper/0"), flush(8, 0, 0, name="<idle>"),
        switch(9, 0, 2), flush(10, 0, 0, name="<idle>"),
    ]  # fmt: skip
    mm = read(b"".join(lines)).mm.tolist()
    assert mm[0] == mm[2] == mm[4]
    assert mm[1] == mm[3] != mm[0]


@pytest.mark.parametrize("by", ["program", "kernel"])
def test_who_patches_the_kernel_goes_over_to_a_temporary_address_space_and_back(by: str) -> None:
    name = "a" if by == "program" else "kworker/0:1"
    patches = [flush(10 + at, 9, 0 if at % 2 else -1, name=name) for at in range(10)]
    if by == "kernel":
        # It has borrowed an address space, and gives it up first.
        patches.insert(0, flush(9, 9, -1, name=name))
    before = [switch(1, 1, 2), flush(2, 1, -1), switch(3, 2, 9, name), flush(4, 2, -1)]
    after = [switch(30, 9, 2), flush(31, 9, 0)]
    spaces = read(b"".join([*(before[: 4 if by == "program" else 3]), *patches, *after]))
    switched = spaces.mm[~spaces.changed].tolist()
    assert len(set(switched)) == 3
    own, temporary = switched[1], switched[2]
    assert switched[1:-1] == [own, *[temporary, own] * 5]
    answer = predict_flushes("t", spaces, [], [])
    assert answer.check is not None
    # What was mapped there for a patch is taken away after it.
    assert answer.check.counted == answer.check.simulated.flushes == 7
    assert answer.check.simulated.outdated == 4


def test_a_program_that_is_executed_after_a_switch_is_no_patch() -> None:
    lines = [switch(1, 1, 2), flush(2, 1, -1), flush(3, 2, -1), switch(4, 2, 9, "kworker/0:1")]
    lines += [switch(5, 9, 2), flush(6, 2, -1), flush(7, 2, 1, reason=3), flush(8, 2, 0)]
    spaces = read(b"".join(lines))
    assert spaces.mm[~spaces.changed].tolist() == [0, 1, 2, 3]


def test_changes_while_a_cpu_is_in_lazy_mode_are_flushed_when_it_leaves_it() -> None:
    both = [switch(1, 1, 2), flush(2, 1, -1), switch(3, 3, 2, cpu=1), flush(4, 3, -1, cpu=1)]
    idle = [switch(5, 2, 0, "swapper/0"), flush(6, 2, 1, reason=4, cpu=1)]
    back = [switch(7, 0, 2), flush(8, 0, -1, name="<idle>")]
    answer = predict_flushes("t", read(b"".join([*both, *idle, *back])), [], [])
    assert answer.check is not None
    assert answer.check.counted == answer.check.simulated.flushes == 3
    assert answer.check.simulated.outdated == 1


@pytest.mark.parametrize(
    "name",
    [
        "rcu_preempt", "rcu_sched", "rcu_tasks_kthre", "rcu_exp_gp_kthr", "rcuc/0", "rcub/1",
        "rcuop/0", "rcuos/12", "rcuog/0", "kswapd0", "kcompactd0", "kdamond.0", "scsi_eh_0",
        "irq_work/0", "irq/24-xhci_hcd", "ktimers/0", "ksoftirqd/0", "migration/0",
        "kworker/u8:1", "kworker/0:1H-kblockd", "khugepaged", "oom_reaper", "jbd2/sda1-8",
    ],
)  # fmt: skip
def test_threads_of_the_kernel_are_known_by_their_names(name: str) -> None:
    assert read(switch(1, 1, 2) + switch(2, 2, 9, name)).mm.tolist() == [0]


@pytest.mark.parametrize("name", ["migration", "irqbalance", "ksmtuned", "kswap", "b"])
def test_programs_with_names_like_the_kernel_s_keep_their_address_space(name: str) -> None:
    assert read(switch(1, 1, 2) + switch(2, 2, 9, name)).mm.tolist() == [0, 1]


def test_changes_of_translations_are_rows_that_are_no_switch() -> None:
    spaces = read(switch(1, 1, 2) + flush(2, 1, -1) + flush(3, 2, 5, reason=3))
    assert spaces.changed.tolist() == [False, True]
    assert spaces.reasons == {"task switch": 1, "local mm shootdown": 1}


def test_every_line_of_a_long_trace_is_read() -> None:
    ring = [(at, 1 + at % 7, 1 + (at + 1) % 7) for at in range(3_000)]
    lines = [line for step in ring for line in (switch(*step), flush(*step[:2], -1))]
    answer = predict_flushes("t", read(b"".join(lines)), [], [])
    assert answer.threads == answer.switches == 3_000
    assert answer.check is not None
    # A switch too few leaves the simulated ids in another order for hundreds of switches.
    assert answer.check.counted == answer.check.simulated.flushes == 3_000


def test_a_damaged_line_is_counted_and_a_trace_without_switches_is_refused() -> None:
    good = switch(1, 1, 2) + flush(2, 1, -1)
    assert read(good + flush(3, 2, 0, reason=77) + b"tlb_flush\n" + good[:60] + b"\n").unread == 3
    # A time that no clock has.
    assert read(good + switch(3, 2, 1).replace(b" 1.0", b" 9999999999.0")).unread == 1
    with pytest.raises(RecordingError, match="no sched_switch"):
        read(flush(3, 2, 5, reason=3).replace(b"tlb_flush", b"other"))
    with pytest.raises(RecordingError, match="not a known trace"):
        read(b"tlb_flush sched_switch\n")


def test_a_trace_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_spaces, "MOST_EVENTS", 1)
    with pytest.raises(RecordingError, match="shorter part"):
        read(switch(1, 1, 2) + flush(2, 1, -1) + switch(3, 2, 1) + flush(4, 2, -1))


def test_the_verb_prints_the_check_and_what_it_supposes(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(unpack("tasks-7"))
    done = run(tmp_path / "t", "--ids", "6,16", "--policy", "in-turn,generations")
    assert done.exit_code == 0, done.output
    for part in ("counted  2,949 flushes", "in-turn, 6 ids", "supposes", "no model  generations"):
        assert part in done.output
    document = json.loads(run(tmp_path / "t", "--json").stdout)
    assert document["format"] == "whylate-address-ids"
    assert document["check"]["counted"] == 2949
    assert run(tmp_path / "t", "--ids", "6", "--policy", "generations").exit_code == 3
    assert run(tmp_path / "t", "--policy", "fifo").exit_code == 2
    assert run(tmp_path / "t", "--ids", "0").exit_code == 2
