"""The kernel's own tracers: timerlat, osnoise, and those of latency."""

from __future__ import annotations

import re

import pytest
from of_traces import DATA, follow, lines_of

from whylate.causes.traces.latency_traces import cut_latency_trace, explain_latency_traces
from whylate.recording.events import Kind
from whylate.recording.traces.latency import LatencyTrace, latency_traces
from whylate.recording.traces.seen import Seen

_LATENCY = re.compile(rb"#\d+ +context thread timer_latency +(\d+) ns")
#: An event some time before: from there on nothing is missing.
BEFORE = b"    cc1-87  [005] d..h... 548.770000: irq_noise: x:1 start 9.1 duration 10 ns"


@pytest.mark.parametrize("name", ["pc-rt-timerlat.txt", "virt-arm64-rt-timerlat.txt",
                                  "pc-rt-timerlat-events.txt"])  # fmt: skip
def test_each_activation_of_timerlat_is_taken_with_the_latency_that_it_measured(name: str) -> None:
    read, found = follow(name, None)
    measured = [int(m[1]) for line in lines_of(name) if (m := _LATENCY.search(line)) is not None]
    assert sorted(one.activation.latency_ns for one in found) == sorted(measured)
    assert read.seen.traced == len(measured) > 5
    assert read.chosen is not None
    assert read.chosen.watch.tracers


def test_noise_is_put_where_it_was_although_its_start_is_on_another_clock() -> None:
    lines = [
        BEFORE,
        b"    cc1-87  [005] d..h... 548.771078: #4 context    irq timer_latency     13585 ns",
        b"    cc1-87  [005] dNLh1.. 548.771083: irq_noise: timer:236 start 9.1 duration 5000 ns",
        b"    cc1-87  [005] dNLh2.. 548.771099: irq_noise: qxl:21 start 9.2 duration 7000 ns",
        b"    cc1-87  [005] d...3.. 548.771102: thread_noise: cc1:87 start 9.3 duration 10000 ns",
        b"timerlat-35 [005] ....... 548.771104: #4 context thread timer_latency     39585 ns",
    ]  # fmt: skip
    _, found = follow(lines, None)
    one = found[0]
    assert one.activation.due_ns == 548_771_064_415
    events = [
        (event.kind, event.time_ns - one.activation.due_ns) for event in one.cut.window.events
    ]
    # The interrupt was entered before it could look at the clock; the second one took 7 µs.
    assert (Kind.VECTOR_ENTRY, 13_585) in events
    assert (Kind.VECTOR_ENTRY, 27_585) in events
    assert one.spent("interrupt") == 12_000
    assert one.spent("unexplained") + one.spent("scheduling") == 39_585 - 12_000


def test_beside_switches_the_way_from_the_switch_to_timerlats_own_code_is_its_return() -> None:
    _, found = follow("pc-rt-timerlat-events.txt", None)
    after = [one for one in found[1:] if one.cut.window.switched_ns is not None]
    assert len(after) >= 5
    for one in after:
        assert one.cut.window.switched_ns is not None
        ran = [piece for piece in one.pieces if piece.start_ns >= one.cut.window.switched_ns]
        assert {piece.cause.value for piece in ran} <= {"return", "interrupt", "softirq", "nmi"}
        assert any(piece.cause.value == "return" for piece in ran)


def test_what_interrupted_something_in_turn_is_added_to_how_long_it_lay_there() -> None:
    lines = [
        BEFORE,
        b"    cc1-87  [005] d..h... 548.771000: #4 context    irq timer_latency      1000 ns",
        b"    cc1-87  [005] d..h... 548.771020: irq_noise: eth:9 start 9.1 duration 5000 ns",
        b"    cc1-87  [005] ..s.... 548.771030: softirq_noise: NET_RX:3 start 9 duration 20000 ns",
        b"timerlat-35 [005] ....... 548.771050: #4 context thread timer_latency     51000 ns",
    ]  # fmt: skip
    _, found = follow(lines, None)
    entries = {event.name: event.time_ns for event in found[0].cut.window.events
               if event.kind in (Kind.VECTOR_ENTRY, Kind.SOFTIRQ_ENTRY)}  # fmt: skip
    assert entries == {"eth": 548_771_015_000, "NET_RX": 548_771_005_000}
    assert found[0].spent("softirq", "NET_RX") == 20_000
    assert found[0].spent("interrupt", "eth") == 5000


def test_a_thread_that_ran_while_timerlats_waited_is_named_and_one_interrupted_is_not() -> None:
    lines = [
        BEFORE,
        b"    cc1-87  [005] d..h... 548.771078: #4 context    irq timer_latency     13000 ns",
        b"    cc1-87  [005] d...3.. 548.771100: thread_noise: cc1:87 start 9.3 duration 10000 ns",
        b" urgent-88  [005] d...3.. 548.771180: thread_noise: urgent:88 start 9 duration 80000 ns",
        b"timerlat-35 [005] ....... 548.771185: #4 context thread timer_latency    120000 ns",
    ]
    _, found = follow(lines, None)
    assert found[0].spent("thread", "urgent") == 80_000
    assert found[0].spent("thread") == 80_000
    assert found[0].spent("throttling") == 0


def test_a_stack_that_shows_interrupts_being_switched_on_says_so_and_another_does_not() -> None:
    below = [b" => timerlat_irq", b" => hrtimer_interrupt", b" => asm_sysvec_apic_timer_interrupt"]

    def pending(*interrupted: bytes) -> dict[str, int]:
        lines = [
            BEFORE,
            b"    cc1-87  [005] d..h... 548.771078: #4 context    irq timer_latency     50000 ns",
            b"timerlat-35 [005] ....... 548.771100: #4 context thread timer_latency     70000 ns",
            b"timerlat-35 [005] ....1.. 548.771102: <stack trace>",
            *below, *interrupted,
            b"    cc1-87  [005] d..h... 548.772078: #5 context    irq timer_latency      1000 ns",
        ]  # fmt: skip
        _, found = follow(lines, None)
        return {"off": found[0].spent("interrupts disabled", "read_slowly"),
                "unexplained": found[0].spent("unexplained")}  # fmt: skip

    told = pending(b" => _raw_spin_unlock_irqrestore", b" => read_slowly", b" => 0")
    assert told["off"] == 50_000
    assert pending(b" => read_slowly", b" => 0")["off"] == 0


def test_osnoise_is_accounted_for_and_what_nothing_was_seen_of_is_never_hardware() -> None:
    read, found = follow("pc-rt-osnoise.txt", None)
    assert read.seen.traced == len(found) > 20
    assert any(one.spent("interrupt", "local_timer") for one in found)
    assert any(one.spent("thread") for one in found)
    assert not any(one.spent("scheduling") or one.spent("return") for one in found)


def _traces(*names: str) -> tuple[LatencyTrace, ...]:
    return latency_traces([line for name in names for line in lines_of(name)], Seen())


def test_a_latency_tracers_episode_has_its_latency_and_several_may_follow_each_other() -> None:
    names = "pc-rt-wakeup_rt.txt", "virt-arm64-rt-wakeup_rt.txt", "pc-rt-wakeup_rt-alone.txt"
    traces = _traces(*names)
    stated = [int(re.search(rb"# latency: (\d+) us", (DATA / name).read_bytes())[1])  # type: ignore[index]
              for name in names]  # fmt: skip
    assert [one.latency_ns for one in traces] == [us * 1000 for us in stated]
    for one in traces:
        assert sum(piece.length_ns for piece in cut_latency_trace(one)) == one.latency_ns
    answer = explain_latency_traces(traces, 5)
    assert answer.population is not None
    assert answer.population.episodes == 3
    assert abs(sum(cause.share for cause in answer.population.causes) - 1) < 1e-9


def test_lines_that_are_kept_are_bounded_over_all_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.recording.traces.latency.MOST_STEPS", 50)
    traces = _traces("pc-rt-wakeup_rt.txt", "virt-arm64-rt-wakeup_rt.txt")
    assert sum(len(one.steps) for one in traces) == 50
    assert all(one.left_out > 0 for one in traces)


def test_without_lines_in_between_nothing_is_said_of_what_ran() -> None:
    (one,) = _traces("pc-rt-wakeup_rt-alone.txt")
    spent = {piece.cause.value: piece.length_ns for piece in cut_latency_trace(one)}
    assert spent["unexplained"] > 0.99 * one.latency_ns


def _section(
    tracer: str,
    *steps: str,
    lines: int | None = None,
    edges: tuple[str, str] = ("ata_scsi_queuecmd", "ata_qc_issue"),
    cpus: str = " #P:4",
) -> LatencyTrace:
    """A trace as print_trace_header() and trace_print_lat_context() of the kernel write it.

    lines: how many its header counts; None: those that it has.
    """
    count = len(steps) if lines is None else lines
    text = (
        f"""\
# tracer: {tracer}
#
# {tracer} latency trace v1.1.5 on 6.1.0-rt
# --------------------------------------------------------------------
# latency: 100 us, #{count}/{count}, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0{cpus})
#    -----------------
#    | task: ls-2230 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#  => started at: {edges[0]}
#  => ended at:   {edges[1]}
#
#     \\   /      |||||  \\    |   /
""".splitlines()
        + list(steps)
    )
    (one,) = latency_traces([line.encode() for line in text], Seen())
    return one


def _told(trace: LatencyTrace) -> list[tuple[str, str, int]]:
    return [
        (piece.cause.value, piece.detail, piece.length_ns // 1000)
        for piece in cut_latency_trace(trace)
    ]


def test_a_section_with_interrupts_off_is_named_by_where_it_began_and_ended() -> None:
    one = _section(
        "irqsoff",
        "      ls-2230    3d...    0us+: _raw_spin_lock_irqsave <-ata_scsi_queuecmd",
        "      ls-2230    3d..1  100us : _raw_spin_unlock_irqrestore <-ata_qc_issue",
        "      ls-2230    3d..1  101us+: trace_hardirqs_on <-ata_qc_issue",
    )
    assert _told(one) == [("interrupts disabled", "ata_scsi_queuecmd to ata_qc_issue in ls", 100)]


def test_interrupts_that_came_while_preemption_was_off_are_taken_out() -> None:
    steps = (
        "      ls-2230    3...1    0us+: start <-ata_scsi_queuecmd",
        "      ls-2230    3d.h1   40us+: irq_enter <-common_interrupt",
        "      ls-2230    3d.h1   60us+: irq_exit <-common_interrupt",
        "      ls-2230    3d..1   70us+: _raw_spin_lock_irq <-f",
        "      ls-2230    3...1   90us : end <-f",
    )
    section = "ata_scsi_queuecmd to ata_qc_issue in ls"
    assert _told(_section("preemptoff", *steps)) == [
        ("preemption disabled", section, 40), ("interrupt", "", 30),
        ("preemption disabled", section, 30),
    ]  # fmt: skip
    assert _told(_section("preemptirqsoff", *steps)) == [
        ("preemption disabled", section, 40), ("interrupt", "", 30),
        ("interrupts disabled", section, 20),
        ("preemption disabled", section, 10),
    ]  # fmt: skip


OFF = (
    "      ls-2230    3d...    0us+: _raw_spin_lock_irqsave <-ata_scsi_queuecmd",
    "      ls-2230    3d..1   40us+: f <-ata_scsi_queuecmd",
    "      ls-2230    3d..1  100us : _raw_spin_unlock_irqrestore <-ata_qc_issue",
    "      ls-2230    3d..1  101us+: trace_hardirqs_on <-ata_qc_issue",
)
NAME = "ata_scsi_queuecmd to ata_qc_issue in ls"


def test_a_kernel_without_smp_does_not_print_its_cpus() -> None:
    one = _section("irqsoff", *OFF, cpus="")
    assert (one.latency_ns, one.cpus) == (100_000, 0)
    assert _told(one) == [("interrupts disabled", NAME, 100)]


def test_a_header_alone_names_the_section_in_which_no_interrupt_can_have_come() -> None:
    assert _told(_section("irqsoff", lines=168)) == [("interrupts disabled", NAME, 100)]
    assert _told(_section("preemptoff", lines=241)) == [("not observed", "", 100)]
    assert _told(_section("preemptirqsoff", lines=241)) == [("not observed", "", 100)]
    assert _told(_section("wakeup_rt", lines=241)) == [("not observed", "", 100)]


@pytest.mark.parametrize("mark", ["[...]", "  [...]", "...", "[snip]", " [ ... ]"])
@pytest.mark.parametrize("tracer", ["irqsoff", "preemptirqsoff"])
def test_where_lines_were_left_out_nothing_was_observed(tracer: str, mark: str) -> None:
    one = _section(tracer, *OFF[:2], mark, *OFF[2:], lines=168)
    assert _told(one) == [("interrupts disabled", NAME, 40), ("not observed", "", 60)]
    one = _section(tracer, mark, *OFF[1:], lines=168)
    assert _told(one)[0] == ("not observed", "", 40)


def test_fewer_lines_than_the_header_counts_are_not_observed() -> None:
    # The text ends early: so far it is whole.
    assert _told(_section("irqsoff", *OFF[:2], lines=168)) == [
        ("interrupts disabled", NAME, 40), ("not observed", "", 60),
    ]  # fmt: skip
    # It has its end, so that the missing lines may be anywhere.
    assert _told(_section("irqsoff", *OFF, lines=168)) == [("not observed", "", 100)]
    # The stack behind the end was not copied, which says nothing of the section.
    assert _told(_section("irqsoff", *OFF, lines=5)) == [("interrupts disabled", NAME, 100)]


@pytest.mark.parametrize(
    ("edges", "name"),
    [
        (
            ("trace_hardirqs_off_thunk", "restore_args"),
            "apic_timer_interrupt to restore_args in ls",
        ),
        (
            ("trace_hardirqs_off_thunk", "trace_hardirqs_on"),
            "apic_timer_interrupt to do_softirq in ls",
        ),
        (("free_debug_processing", "return_to_handler"), "free_debug_processing in ls"),
        (("tracer_hardirqs_off", "stop_critical_timings"), "in ls"),
        (("start_critical_timing", "__trace_hardirqs_on_caller"), "in ls"),
    ],
)
def test_the_tracers_own_functions_are_no_place(edges: tuple[str, str], name: str) -> None:
    steps = (
        "  <idle>-0       3d...    0us!: trace_hardirqs_off_thunk <-apic_timer_interrupt",
        "  <idle>-0       3d..1  100us : trace_hardirqs_on <-do_softirq",
    )
    assert _told(_section("irqsoff", *steps, edges=edges)) == [("interrupts disabled", name, 100)]


def test_a_trace_in_a_mail_is_read_as_it_was() -> None:
    text = (DATA / "virt-arm64-rt-wakeup_rt.txt").read_bytes().splitlines()
    plain = cut_latency_trace(latency_traces(text, Seen())[0])
    for before in (b"> ", b">> ", b"    ", b"\t", b"> > ", b" | "):
        quoted = [b"I see this:", b"", *(before + line for line in text), b"", b"Any idea?"]
        (one,) = latency_traces(quoted, Seen())
        assert cut_latency_trace(one) == plain


def test_with_display_graph_the_functions_are_a_tree() -> None:
    one = _section(
        "irqsoff",
        "        0 us |   3)   bash-1507    |  d... |   0.000 us    |  _raw_spin_lock_irqsave();",
        "       40 us |   3)   bash-1507    |  d..2 |               |    set_track() {",
        "       41 us |   3)   bash-1507    |  d..2 | + 52.107 us   |    }",
        "      101 us |   3)   bash-1507    |  d..1 |   0.000 us    |  tracer_hardirqs_on();",
    )
    assert [step.time_ns for step in one.steps] == [0, 40_000, 41_000, 101_000]
    assert _told(one) == [("interrupts disabled", NAME, 100)]
