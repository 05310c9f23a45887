"""Causes on virtual boards, in virtual time: what they log is what a measured thread suffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from fault_rig import Seen, run_with

from own_boards import own_boards
from whylate.lab.faults.catalogue import FaultUse, use

pytestmark = pytest.mark.qemu

SIZE_US = 300
PERIOD_US = 20_000
#: Causes that keep the CPU from a real-time thread until they are over, on any kernel.
BLOCKING = ("irqs-off", "preempt-off", "slow-irq", "bulk-lock", "rt-task")
SEVERAL = (*BLOCKING, "softirq-storm", "page-faults")
DURATION_NS = 700_000_000


def _spread(names: Sequence[str], **more: dict[str, int]) -> list[FaultUse]:
    """Return faults of one period whose times are apart, so that each can be told alone."""
    apart_us = PERIOD_US // (len(names) + 1)
    return [
        use(
            name,
            {
                "period_us": PERIOD_US,
                "phase_us": apart_us * i,
                "seed": i + 1,
                **({} if name == "page-faults" else {"size_us": SIZE_US}),
                **more.get(name, {}),
            },
        )
        for i, name in enumerate(names)
    ]


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc", "pc-rt", "virt-arm64", "virt-arm64-rt"):
        yield


@pytest.fixture(scope="module")
def quiet() -> Seen:
    return run_with("pc-rt", [], duration_ns=DURATION_NS)


@pytest.fixture(scope="module")
def rt() -> Seen:
    uses = _spread(SEVERAL, **{"bulk-lock": {"chunk_us": 50}})
    return run_with("pc-rt", uses, duration_ns=DURATION_NS)


@pytest.fixture(scope="module")
def ordinary() -> Seen:
    return run_with("pc", _spread(SEVERAL), duration_ns=DURATION_NS, disguise="anything")


@pytest.fixture(scope="module")
def two_cpus() -> Seen:
    names = ("lock-held", "ipi-call", "tlb-shootdown")
    uses = _spread(names, **{"tlb-shootdown": {"size_us": 2000}})
    return run_with("pc", uses, cpus=2, duration_ns=DURATION_NS, also_read=["/proc/interrupts"])


@pytest.fixture(scope="module")
def arm() -> Seen:
    # Longer, for what printk's lines take is little, and shows in many of them alone.
    uses = _spread(("rt-task", "printk"))
    return run_with("virt-arm64-rt", uses, duration_ns=4 * DURATION_NS)


def _late_by_what_was_left(seen: Seen, name: str) -> None:
    """Assert that whoever came due meanwhile ran when the fault was over, and not much later."""
    hits = seen.hits(name)
    assert len(hits.latency_ns) >= 3
    assert (hits.latency_ns >= hits.left_ns).all()
    much_later = hits.latency_ns - hits.left_ns > 3 * seen.ordinary().max()
    # Between the two an ordinary kernel runs the softirqs that have come up, however many.
    assert much_later.sum() <= 1


def test_without_a_fault_nothing_is_late(quiet: Seen) -> None:
    assert quiet.events == {}
    assert quiet.latency_ns.max() < SIZE_US * 1000 / 10


@pytest.mark.parametrize("name", BLOCKING)
def test_with_preempt_rt_an_activation_is_late_by_what_is_left_of_the_fault(
    rt: Seen, name: str
) -> None:
    _late_by_what_was_left(rt, name)


@pytest.mark.parametrize("name", BLOCKING)
def test_on_an_ordinary_kernel_an_activation_is_late_by_what_is_left_of_the_fault(
    ordinary: Seen, name: str
) -> None:
    _late_by_what_was_left(ordinary, name)


@pytest.mark.parametrize("name", SEVERAL)
def test_between_the_faults_all_is_as_without_them(rt: Seen, quiet: Seen, name: str) -> None:
    assert rt.events[name]
    assert rt.ordinary().max() < 2 * quiet.latency_ns.max()


def test_a_burst_of_softirqs_delays_on_an_ordinary_kernel_and_not_with_preempt_rt(
    rt: Seen, ordinary: Seen
) -> None:
    assert rt.hits("softirq-storm").latency_ns.max() < 2 * rt.ordinary().max()
    late = ordinary.hits("softirq-storm")
    # The log has each tasklet; whoever comes due during one waits for those behind it as well.
    assert (late.latency_ns >= late.left_ns).all()
    assert late.latency_ns.max() > SIZE_US * 1000 / 2


def test_bulk_work_in_chunks_delays_by_a_chunk_and_in_one_piece_by_all_of_it(
    rt: Seen, ordinary: Seen
) -> None:
    assert max(e.length_ns for e in rt.events["bulk-lock"]) < 2 * 50_000
    assert rt.hits("bulk-lock").latency_ns.max() < 50_000 + 3 * rt.ordinary().max()
    assert min(e.length_ns for e in ordinary.events["bulk-lock"]) >= SIZE_US * 1000
    assert ordinary.hits("bulk-lock").latency_ns.max() > SIZE_US * 1000 / 2


@pytest.mark.parametrize("kernel", ["rt", "ordinary"])
def test_the_measured_task_faults_when_its_pages_were_taken(
    kernel: str, request: pytest.FixtureRequest
) -> None:
    seen: Seen = request.getfixturevalue(kernel)
    assert len(seen.after("page-faults")) >= 10
    assert np.median(seen.after("page-faults")) > 2 * seen.ordinary().max()


@pytest.mark.parametrize("name", ["irqs-off", "preempt-off", "slow-irq", "rt-task"])
def test_the_log_says_what_was_done_and_when(rt: Seen, name: str) -> None:
    events = rt.events[name]
    assert len(events) >= DURATION_NS / (PERIOD_US * 1000) * 0.8
    assert {event.cpu for event in events} == {0}
    # A thread is interrupted meanwhile, by a tick and what comes with it.
    most_ns = SIZE_US * (1200 if name == "rt-task" else 1100)
    assert all(SIZE_US * 1000 <= e.length_ns < most_ns for e in events)
    steps = np.diff([event.start_ns for event in events])
    # A grid of periods, each time moved by up to the jitter.
    assert abs(np.median(steps) - PERIOD_US * 1000) < 1_000_000
    assert len(set(steps.tolist())) > 1


def test_a_wait_for_a_lock_held_on_another_cpu_delays_this_one(two_cpus: Seen) -> None:
    _late_by_what_was_left(two_cpus, "lock-held")


def test_a_function_called_from_another_cpu_delays_this_one(two_cpus: Seen) -> None:
    _late_by_what_was_left(two_cpus, "ipi-call")


def test_tlb_shootdowns_interrupt_the_cpu_that_uses_the_address_space(two_cpus: Seen) -> None:
    assert len(two_cpus.events["tlb-shootdown"]) >= DURATION_NS / (PERIOD_US * 1000) * 0.8
    table = two_cpus.files["/proc/interrupts"].decode()
    (line,) = (line for line in table.splitlines() if line.strip().startswith("TLB:"))
    # The measured CPU is the one that is interrupted, several times in each burst.
    victim, shooter = (int(word) for word in line.split()[1:3])
    assert victim > 3 * len(two_cpus.events["tlb-shootdown"])
    assert victim > 10 * shooter


def test_an_idle_state_that_is_left_late_delays_where_it_is_allowed() -> None:
    uses = [use("late-idle", {"size_us": SIZE_US})]
    allowed = run_with("pc-rt", uses, duration_ns=100_000_000, hold_idle=False)
    assert len(allowed.events["late-idle"]) >= 50
    assert np.median(allowed.latency_ns) > SIZE_US * 1000
    # The probe holds /dev/cpu_dma_latency unless told otherwise, and the CPU stays out of it.
    held = run_with("pc-rt", uses, duration_ns=100_000_000)
    assert held.latency_ns.max() < SIZE_US * 1000 / 10


def test_a_real_time_task_of_higher_priority_delays_an_arm_board(arm: Seen) -> None:
    _late_by_what_was_left(arm, "rt-task")


def test_real_time_throttling_keeps_all_real_time_threads_off() -> None:
    uses = [use("rt-throttling", {"period_us": 200_000, "size_us": 10_000})]
    also = ["/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us"]
    seen = run_with("virt-arm64-rt", uses, cpus=2, duration_ns=DURATION_NS, also_read=also)
    assert seen.files["/proc/sys/kernel/sched_rt_period_us"] == b"50000\n"
    assert seen.files["/proc/sys/kernel/sched_rt_runtime_us"] == b"40000\n"
    hits = seen.hits("rt-throttling")
    slack_ns = 3 * seen.ordinary().max()
    # Whoever had taken the CPU from the spinning thread just then is in the log's hole as well.
    meant = hits.left_ns < 9_900_000
    # Several activations of 1 ms come due in each.
    assert meant.sum() >= 2 * 3
    assert (abs(hits.latency_ns - hits.left_ns)[meant] < slack_ns).all()


def test_lines_on_the_console_delay_by_less_than_the_whole_burst(arm: Seen) -> None:
    hits = arm.hits("printk")
    assert "-" * 100 in arm.console
    assert len(hits.latency_ns) > 20
    # In virtual time a line takes little of the CPU: it shows in those that are late, which three
    # times as many of those are that it hits.
    late_ns = np.quantile(arm.ordinary(), 0.95)
    assert (hits.latency_ns > late_ns).mean() > 0.15
    assert hits.latency_ns.max() < SIZE_US * 1000


def test_the_same_run_is_the_same_to_the_nanosecond(rt: Seen) -> None:
    uses = _spread(SEVERAL, **{"bulk-lock": {"chunk_us": 50}})
    again = run_with("pc-rt", uses, duration_ns=DURATION_NS)
    assert again.digest == rt.digest
    assert again.events == rt.events


@pytest.mark.parametrize("board", ["pc", "virt-arm64"])
@pytest.mark.parametrize("remedy", [0, 1])
def test_bulk_work_in_a_kernel_delays_no_longer_than_the_remedy_was_asked_for(
    board: str, remedy: int
) -> None:
    parameters = {"period_us": PERIOD_US, "size_us": SIZE_US, "remedy": remedy, "asked_us": 20}
    seen = run_with(board, [use("bulk-remedy", parameters)], duration_ns=DURATION_NS)
    latest_ns = seen.hits("bulk-remedy").latency_ns.max()
    if remedy:
        # Of a chunk the reading of the clock at either end is not in its log.
        assert max(event.length_ns for event in seen.events["bulk-remedy"]) < 2 * 20_000
        assert latest_ns < 20_000 + 3 * seen.ordinary().max()
    else:
        assert latest_ns > SIZE_US * 1000 / 2
