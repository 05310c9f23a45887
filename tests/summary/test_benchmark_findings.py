"""Findings: reported only where the figures support them."""

from __future__ import annotations

import pytest

from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.memory import MemoryPoint, Pages, Source
from whylate.recording.workloads.switch import SwitchPoint
from whylate.summary.benchmarks.model import Finding, Measured, NetworkFigures, PointFigures
from whylate.summary.benchmarks.summarizer import Measurement
from whylate.summary.workloads.clock import ClockSummarizer, clock_findings
from whylate.summary.workloads.clock_sharing import sharing_findings
from whylate.summary.workloads.memory import MemorySummarizer, zero_page_findings
from whylate.summary.workloads.switch import Machine, SwitchSummarizer, flush_findings


def ring(
    tasks: int, flushes: float | None, *, threads: bool = False, cpus: tuple[int, ...] = (0,)
) -> PointFigures:
    point = SwitchPoint(tasks, threads=threads, cpus=cpus)
    facts = {"flushes_per_switch": flushes, "switches": 10}
    return SwitchSummarizer.present(f"{tasks} tasks", point, 6, 6, Measurement({}, facts))


def texts(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings]


def test_the_cliff_is_named_where_it_is_and_six_are_of_x86() -> None:
    rings = [ring(8, 0.98), ring(4, 0.001), ring(7, 0.97), ring(6, 0.002)]
    (text,) = texts(flush_findings(rings, Machine("x86_64")))
    assert "with 6 tasks 0.002" in text
    assert "with 7 tasks 0.970" in text
    assert "x86 kernel keeps 6" in text
    (other,) = texts(flush_findings(rings, Machine("riscv64")))
    assert "x86" not in other


def test_one_task_alone_which_other_work_interrupts_hides_no_cliff() -> None:
    rings = [ring(1, 1.0), ring(2, 0.0), ring(6, 0.003), ring(7, 1.0)]
    (text,) = texts(flush_findings(rings, Machine("x86_64")))
    assert text.startswith("with 6 tasks 0.003 of the switches flush")


def test_a_cliff_elsewhere_is_not_put_down_to_six_identifiers() -> None:
    (text,) = texts(flush_findings([ring(2, 0.0), ring(4, 0.9)], Machine("x86_64")))
    assert "x86 kernel" not in text


def test_no_cliff_no_finding() -> None:
    assert not flush_findings([ring(4, 0.01), ring(7, 0.02)], Machine("x86_64"))
    # Nor is one ring that flushes between others that do not, as happens by the order of tasks.
    wild = [ring(2, 0.0), ring(6, 0.0), ring(7, 0.5), ring(8, 0.02), ring(12, 0.01)]
    assert not flush_findings(wild, Machine("x86_64"))
    # Half of them is no cliff yet.
    assert not flush_findings([ring(4, 0.01), ring(7, 0.3)], Machine("x86_64"))


def test_what_is_neither_few_nor_most_may_lie_at_the_edge_alone() -> None:
    # The kernel gives identifiers in turn: a ring of seven was seen to settle at one half.
    rings = [ring(4, 0.0), ring(6, 0.001), ring(7, 0.49), ring(8, 1.0), ring(12, 1.0)]
    (text,) = texts(flush_findings(rings, Machine("x86_64")))
    assert "with 6 tasks 0.001" in text
    assert "with 8 tasks 1.000" in text
    assert "x86 kernel keeps 6" in text
    elsewhere = [ring(2, 0.4), ring(6, 0.0), ring(7, 1.0)]
    assert not flush_findings(elsewhere, Machine("x86_64"))


def test_what_always_flushes_is_said_with_what_is_known_of_the_cpu() -> None:
    (text,) = texts(flush_findings([ring(8, 1.0), ring(20, 1.0)], Machine("x86_64")))
    assert "already with 8 tasks" in text
    assert "--tasks 2,6,8" in text
    rings = [ring(2, 1.0), ring(4, 0.98)]
    (text,) = texts(flush_findings(rings, Machine("x86_64", pcid=False)))
    assert "no identifiers" in text
    (text,) = texts(flush_findings(rings, Machine("x86_64", pcid=True)))
    assert "nopcid" in text
    # Of threads, of one task and of several CPUs nothing is said.
    for one in (ring(2, 1.0, threads=True), ring(2, 1.0, cpus=(0, 1)), ring(1, 1.0)):
        assert not flush_findings([one], Machine("x86_64"))


def test_why_is_said_of_processes_on_one_cpu_alone() -> None:
    for other in ([ring(6, 0.0, cpus=()), ring(7, 0.9, cpus=())],
                  [ring(6, 0.0, threads=True), ring(7, 0.9, threads=True)]):  # fmt: skip
        (text,) = texts(flush_findings(other, Machine("x86_64")))
        assert "identifiers" not in text


def test_processes_and_threads_are_looked_at_apart() -> None:
    rings = [ring(4, 0.0), ring(7, 0.97), ring(4, 0.0, threads=True), ring(7, 0.0, threads=True)]
    (text,) = texts(flush_findings(rings, Machine("x86_64")))
    assert text.endswith("(processes)")


def test_flushes_are_not_observable_on_arm() -> None:
    found = flush_findings([ring(4, None), ring(7, None)], Machine("aarch64"))
    assert [one.code for one in found] == ["identifiers-not-observable"]
    assert "8 or 16 bits" in found[0].text
    (text,) = texts(flush_findings([ring(2, None)], Machine("aarch64", asid_entries=32768)))
    assert "for 32,768 address spaces" in text
    (text,) = texts(flush_findings([ring(2, None)], Machine("armv7l")))
    assert "for 256 address spaces" in text
    for one in (ring(1, None), ring(2, None, threads=True)):
        assert not flush_findings([one], Machine("aarch64"))


def copied(source: Source, pages: Pages, rate: float, size: int = 4 << 20) -> PointFigures:
    zero = {"small": "zero page", "thp": "huge zero page"}
    name = {"small": "small pages", "thp": "transparent huge pages"}[pages]
    backing = zero[pages] if source == "untouched" else name
    measurement = Measurement(
        {"gb_per_s": Measured(rate, 0.95 * rate, 1.05 * rate)},
        {"backing": backing, "target_backing": name},
    )
    point = MemoryPoint("copy", size, source, pages)
    return MemorySummarizer.present(f"copy {source} {pages}", point, 6, 6, measurement)


def test_a_source_that_was_never_written_is_named_for_what_it_is() -> None:
    found = zero_page_findings([copied("untouched", "small", 20), copied("random", "small", 10)])
    assert [one.code for one in found] == ["zero-page"]
    assert "how fast the target is written" in found[0].text


def test_two_zero_pages_that_differ_are_compared_with_what_was_written() -> None:
    buffers = [
        copied("untouched", "small", 24), copied("untouched", "thp", 11.5),
        copied("random", "small", 11.3), copied("random", "thp", 11.4),
    ]  # fmt: skip
    text = texts(zero_page_findings(buffers))[-1]
    assert "× 2.09" in text
    assert text.endswith("once the source is written it is × 0.99")
    alike = [copied("untouched", "small", 12), copied("untouched", "thp", 11.5)]
    assert "two-zero-pages" not in [one.code for one in zero_page_findings(alike)]


def clock(*, system_call: bool | None, name: str = "monotonic") -> PointFigures:
    measurement = Measurement({}, {"system_call": system_call})
    return ClockSummarizer.present(name, ClockPoint(name), 6, 6, measurement)


def test_a_clock_that_takes_a_system_call_names_its_source() -> None:
    (text,) = texts(clock_findings([clock(system_call=True)], [], "hpet"))
    assert "the clock source is hpet" in text
    assert not clock_findings([clock(system_call=False), clock(system_call=None)], [])
    # A thread's CPU time always takes one.
    assert not clock_findings([clock(system_call=True, name="thread-cputime")], [])


def test_a_shared_clock_is_found_by_the_least_that_its_service_may_be() -> None:
    def network(
        low: float | None, threads: tuple[int, ...] = (1, 2, 4), misfit: float = 1.01
    ) -> NetworkFigures:
        return NetworkFigures("m", list(threads), Measured(900.0, 800.0, 1000.0),
                              Measured(1000.0, low, 1100.0), [], misfit)  # fmt: skip

    one = clock(system_call=None)
    (text,) = texts(clock_findings([one], [network(900.0)]))
    assert "about 1 calls/µs" in text
    assert "predicted" in text
    # Hardly shared; too few rounds for an interval; any network fits two; and one that does not.
    for other in (network(5.0), network(None), network(900.0, (1, 2)), network(900.0, misfit=1.3)):
        assert not clock_findings([one], [other])


@pytest.mark.parametrize(
    ("times", "when"),
    [
        ({1: 0.95, 2: 1.3, 4: 1.6, 8: 1.9}, "from 2 threads on (× 1.30, and × 1.90 with 8)"),
        # A larger number loses: it is not from 2 on.
        ({2: 1.3, 4: 0.7}, "with 2 threads (× 1.30)"),
        ({2: 1.3, 4: 0.7, 8: 1.9}, "with 2 and 8 threads (× 1.30, and × 1.90 with 8)"),
        # Of a larger number it is not sure, or it was not measured.
        ({2: 1.3, 4: 1.05}, "with 2 threads (× 1.30)"),
        ({1: 0.95, 2: 1.3}, "with 2 threads (× 1.30)"),
    ],
)
def test_sharing_pays_from_a_number_on_where_it_does_with_all_larger_ones(
    times: dict[int, float], when: str
) -> None:
    points = []
    for threads, value in times.items():
        point = ClockPoint("device", threads, "device", 1000, remedy="strict")
        measurement = Measurement({"times_direct": Measured(value, 0.9 * value, 1.1 * value)})
        points.append(ClockSummarizer.present(point.name, point, 6, 6, measurement))
    (text,) = [
        finding.text for finding in sharing_findings(points[::-1]) if finding.code == "sharing-pays"
    ]
    assert text == f"device, strict: more reads than direct ones {when}"
