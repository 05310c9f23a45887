"""rtla's auto-analysis: what it prints is read, and what it contradicts is not named.

The texts are printed by the format strings of tools/tracing/rtla/src/timerlat_aa.c; those that
somebody published stand in ../corpus.
"""

from __future__ import annotations

import io
from collections import Counter

import pytest

from whylate.causes.traces.auto_analyses import cut_analysis
from whylate.causes.traces.explain_import import Imported, explain_import
from whylate.recording.errors import RecordingError

ENDED = f"{'-' * 72}\n  Thread latency:   {{latency}} us (100%)\n"
HEADER = "rtla timerlat hit stop tracing\n## CPU 3 hit stop tracing, analyzing it ##\n"
ALL_KINDS = (
    HEADER
    + """  IRQ handler delay:                                     2.00 us (2.00 %)
  IRQ latency:                                           3.10 us
  Timerlat IRQ duration:                                 5.00 us (5.00 %)
  Blocking thread:                                      20.00 us (20.00 %)
                            dd:431                      20.00 us
  NMI interference                                       1.00 us (1.00 %)
  IRQ interference                                      11.00 us (11.00 %)
                   local_timer:236                       4.00 us
                          eth0:24                        7.00 us
  Softirq interference                                  13.00 us (13.00 %)
                         TIMER:1                         6.00 us
                       NET_RX:3                          7.00 us
  Thread interference                                   40.00 us (40.00 %)
                  irq/24-eth0:88                        40.00 us
"""
    + ENDED.format(latency="100.00")
)
STACK = """    Blocking thread stack trace
                -> timerlat_irq
                -> __hrtimer_run_queues
                -> hrtimer_interrupt
                -> {entry}
                -> {interrupted}
                -> do_the_work
"""


def explain(text: str) -> Imported:
    return explain_import(io.BytesIO(text.encode()), "t", None)


def spent(text: str) -> dict[tuple[str, str], int]:
    """Return the ns of the only analysis by cause and detail."""
    (analysis,) = explain(text).read.analyses
    pieces = cut_analysis(analysis)
    assert sum(piece.length_ns for piece in pieces) == analysis.latency_ns
    found: Counter[tuple[str, str]] = Counter()
    for piece in pieces:
        found[piece.cause, piece.detail] += piece.length_ns
    return dict(found)


def test_each_part_has_whylates_name_and_the_rest_is_not_observed() -> None:
    assert spent(ALL_KINDS) == {
        ("unexplained", "in dd"): 22_000,
        ("interrupt", "timerlat's timer"): 5_000,
        ("nmi", ""): 1_000,
        ("interrupt", "local_timer"): 4_000,
        ("interrupt", "eth0"): 7_000,
        ("softirq", "TIMER"): 6_000,
        ("softirq", "NET_RX"): 7_000,
        ("thread", "irq/24-eth0"): 40_000,
        ("not observed", ""): 8_000,
    }


def test_the_shares_are_those_of_the_analysis() -> None:
    found = explain(ALL_KINDS)
    assert found.answer.population is not None
    shares = {(s.cause.value, s.detail): s.share for s in found.answer.population.causes}
    assert shares["thread", "irq/24-eth0"] == pytest.approx(0.4)
    assert shares["not observed", ""] == pytest.approx(0.08)
    assert sum(shares.values()) == pytest.approx(1)
    lacks = {missing.what for missing in found.list_missing_data}
    assert {"control activations", "why dd kept the CPU", "the scheduler's own time"} <= lacks


@pytest.mark.parametrize(
    ("entry", "interrupted", "cause"),
    [
        ("asm_sysvec_apic_timer_interrupt", "_raw_spin_unlock_irqrestore", "interrupts disabled"),
        ("el1h_64_irq", "_raw_spin_unlock_irq", "interrupts disabled"),
        ("asm_sysvec_apic_timer_interrupt", "ioread32", "unexplained"),
        ("some_other_function", "_raw_spin_unlock_irqrestore", "unexplained"),
    ],
)
def test_disabled_interrupts_are_named_by_the_stack_alone(
    entry: str, interrupted: str, cause: str
) -> None:
    stack = STACK.format(entry=entry, interrupted=interrupted)
    text = ALL_KINDS.replace("  NMI", stack + "  NMI")
    place = "do_the_work in dd" if cause == "interrupts disabled" else "in dd"
    assert spent(text)[cause, place] == (2_000 if cause == "interrupts disabled" else 22_000)


def test_an_address_without_a_name_is_no_place() -> None:
    stack = STACK.format(entry="asm_common_interrupt", interrupted="_raw_spin_unlock_irq")
    text = ALL_KINDS.replace("  NMI", stack.replace("do_the_work", "0xffffffffc0a1") + "  NMI")
    assert spent(text)["interrupts disabled", "in dd"] == 2_000


def test_what_an_earlier_interrupt_took_at_most_is_unexplained() -> None:
    stack = STACK.format(entry="asm_common_interrupt", interrupted="_raw_spin_unlock_irq")
    text = ALL_KINDS.replace("  NMI", stack + "  NMI").replace(
        "  IRQ handler", "  Previous IRQ interference:   up to       0.50 us\n  IRQ handler"
    )
    found = spent(text)
    assert found["unexplained", "or an earlier interrupt"] == 500
    assert found["interrupts disabled", "do_the_work in dd"] == 1_500


@pytest.mark.parametrize("between", [" ", "\n"])
def test_a_line_without_its_end_hides_no_delay(between: str) -> None:
    text = ALL_KINDS.replace(
        "  IRQ handler", f"  Previous IRQ interference: up to 0.50 us {between} IRQ handler"
    )
    (analysis,) = explain(text).read.analyses
    assert (analysis.previous_ns, analysis.delay_ns) == (500, 2_000)


def test_parts_that_sum_to_more_than_the_latency_are_not_used() -> None:
    found = explain(ALL_KINDS.replace("100.00 us (100%)", "60.00 us (100%)"))
    assert found.answer.population is not None
    assert found.answer.population.causes[0].cause == "not observed"
    assert any("sum to more than the latency" in one.so for one in found.list_missing_data)


def test_names_that_do_not_fit_their_sum_are_left_out() -> None:
    text = ALL_KINDS.replace("eth0:24                        7.00", "eth0:24      9.00")
    found = spent(text)
    assert found["interrupt", ""] == 11_000
    assert ("interrupt", "eth0") not in found


def test_a_delay_that_stopped_in_the_interrupt_is_of_the_interrupt() -> None:
    text = f"""{HEADER}  IRQ handler delay:          3.00 us (0.42 %)
  IRQ latency:                               700.00 us
  Blocking thread:
                            ip:3567
{"-" * 72}
     IRQ latency:                            700.00 us (100%)
"""
    assert spent(text) == {("unexplained", "in ip"): 700_000}
    (analysis,) = explain(text).read.analyses
    assert analysis.by_irq
    assert any("own handler" in one.what for one in explain(text).list_missing_data)


def test_each_cpu_that_stopped_it_is_an_episode() -> None:
    other = ALL_KINDS.replace("## CPU 3", "## CPU 7").replace("  IRQ handler", "  IRQ handler")
    found = explain(ALL_KINDS + other)
    assert [analysis.cpu for analysis in found.read.analyses] == [3, 7]
    assert found.answer.population is not None
    assert found.answer.population.episodes == 2


def test_an_analysis_without_its_end_is_left_out_and_counted() -> None:
    cut = ALL_KINDS[: ALL_KINDS.index("  NMI")]
    found = explain(cut + ALL_KINDS)
    assert len(found.read.analyses) == 1
    assert any("the end of 1 analyses" in one.what for one in found.list_missing_data)
    with pytest.raises(RecordingError, match="has no end of its auto-analysis"):
        explain(cut)


def test_the_last_line_counts_without_a_newline() -> None:
    assert spent(ALL_KINDS.rstrip()) == spent(ALL_KINDS)


def test_without_a_title_the_idle_thread_names_the_cpu() -> None:
    idle = ALL_KINDS.replace("## CPU 3 hit stop tracing, analyzing it ##\n", "")
    (analysis,) = explain(idle).read.analyses
    assert analysis.cpu == -1
    idle = idle.replace("dd:431", "swapper/5:0")
    (analysis,) = explain(idle).read.analyses
    assert analysis.cpu == 5
    assert spent(idle)["scheduling", "from idle"] == 20_000
    assert spent(idle)["unexplained", "while idle"] == 2_000
