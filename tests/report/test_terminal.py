from __future__ import annotations

import io
import re

import msgspec
import pytest
from report_examples import hostile_run, run_of, staged_run
from rich.console import Console

from whylate.report.terminal.latency import print_summary
from whylate.summary.model import Exceedance, Summary, Trust


def printed(summary: Summary, colour: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    print_summary(summary, console, "runs/one/report.html")
    return out.getvalue()


def test_a_run_fits_on_one_screen() -> None:
    text = printed(msgspec.structs.replace(run_of()[0], warnings=[]))
    lines = text.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_the_accounting_names_all_four_numbers() -> None:
    assert "120,000 expected = 119,970 seen + 30 overrun + 0 dropped" in printed(run_of()[0])


def test_a_sum_that_does_not_add_up_has_no_equals_sign() -> None:
    summary = run_of()[0]
    short = msgspec.structs.replace(summary.together, expected=summary.together.expected + 7)
    text = printed(msgspec.structs.replace(summary, together=short))
    assert "120,007 expected ≠ 119,970 seen" in text


def test_each_quantile_has_its_interval_below_it_or_beside_it_where_that_fits() -> None:
    lines = printed(run_of()[0]).splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("all "))
    assert re.search(r"9\.\d\d µs .* ≥ 30\.4 ms", lines[row])
    assert re.search(r"9\.\d\d–9\.\d\d", lines[row + 1])
    wide = printed(run_of()[0], width=140)
    assert re.search(r"^all +9\.\d\d µs \[9\.\d\d–9\.\d\d\] .* ≥ 30\.4 ms$", wide, re.MULTILINE)


def test_a_refused_quantile_is_a_dash_with_a_reason() -> None:
    text = printed(run_of()[0])
    assert re.search(r"^cpu 0 .*–¹", text, re.MULTILINE)
    assert "¹ p99.99 needs 100,000 samples, this run has 60,000" in text


def test_of_many_cpus_the_worst_are_shown_and_the_rest_counted() -> None:
    text = printed(run_of(64, 6_000)[0])
    assert "the worst 3 of 64 CPUs; the other 61 are in the report" in text
    assert text.count("\ncpu ") == 3
    assert "\ncpu 63 " in text  # the one that stalled


def test_one_cpu_is_not_printed_twice() -> None:
    assert "cpu 0" not in printed(run_of(1, 20_000)[0])


def test_loads_are_shown_with_their_rates_and_their_end() -> None:
    text = printed(run_of()[0])
    assert "load memory:2  1.41 GB/s before, 1.18 GB/s during" in text
    assert "stopped: ended after 3" in text


def test_requirements_say_what_became_of_them_and_why() -> None:
    text = printed(run_of()[0])
    for verdict in ("pass ", "fail ", "inconclusive "):
        assert f"\n{verdict}" in text
    assert "the worst latency is at least 30.4 ms" in text


def test_what_was_not_seen_is_bounded_or_refused_with_a_reason() -> None:
    summary = run_of()[0]
    text = " ".join(printed(summary).split())
    assert (
        "Nothing above 30.4 ms was seen. With 95 % confidence, longer stalls come less often"
        in text
    )
    refused = Exceedance(None, None, None, None, None, None, "fewer than 20 clusters")
    text = printed(msgspec.structs.replace(summary, exceedance=refused))
    assert "No bound above the largest latency: fewer than 20 clusters." in text


def test_a_run_without_verdict_says_why() -> None:
    trust = Trust("no verdict", ["12 samples were dropped", "no real-time priority"])
    text = printed(msgspec.structs.replace(run_of()[0], trust=trust))
    assert re.search(r"trust +no verdict", text)
    assert "– 12 samples were dropped" in text


def test_a_run_that_ended_early_says_so() -> None:
    summary = msgspec.structs.replace(run_of()[0], state="interrupted", elapsed_ns=20_000_000_000)
    text = printed(summary)
    assert "20 s of 60 s planned" in text
    assert "interrupted" in text


@pytest.mark.parametrize("colour", [True, False])
def test_texts_of_a_board_are_neither_markup_nor_control_sequences(colour: bool) -> None:
    text = printed(hostile_run()[0], colour)
    own = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", own)
    whole = re.sub(r"\s+", "", own)
    assert whole.count("\\x1b[2J") > 5
    assert whole.count("[boldred]x[/]\\x1b[2J") == whole.count("\\x1b[2J")
    assert "\\x1b[2J" in own


def test_without_colour_no_escape_is_sent() -> None:
    assert "\x1b" not in printed(run_of()[0])


def test_a_narrow_terminal_loses_no_figure() -> None:
    text = re.sub(r"\s+", "", printed(run_of()[0], width=50))
    for figure in ("9.34", "12.4", "15.8", "19.9", "18.4", "30.4"):
        assert figure in text
    assert "…" not in text


def test_interrupt_and_thread_latency_stand_below_all_with_what_was_not_seen() -> None:
    text = printed(staged_run()[0])
    lines = text.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("all "))
    assert lines[row + 2].startswith("interrupt latency ")
    assert any(line.startswith("thread latency ") for line in lines[row + 3 : row + 5])
    flat = " ".join(text.split())
    assert "interrupt latency: from due to the interrupt; thread latency: to having the CPU" in flat
    assert "not seen: interrupt latency of 830, thread latency of 830, overruns among them" in flat
    assert max(map(len, lines)) <= 80
    assert "thread latency     p50" in printed(staged_run()[0], width=50)


def test_without_stages_no_line_names_them() -> None:
    assert "interrupt" not in printed(run_of()[0])
