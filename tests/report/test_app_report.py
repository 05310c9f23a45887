"""Terminal and page of a program's wakeups: threads stand where CPUs do, and no schedule."""

from __future__ import annotations

import io
import re

import pytest
from msgspec.structs import replace
from rich.console import Console

from app_runs import SECOND, app_manifest, several_threads, woken_cpu_series
from whylate.recording.samples import CpuSamples
from whylate.recording.waits import WaitBin, WaitReport, bin_of
from whylate.recording.workloads.app import CommandTarget, PidTarget, Target
from whylate.report.page.latency import render_html
from whylate.report.terminal.latency import print_summary
from whylate.summary.as_json import to_json
from whylate.summary.summarize import summarize

NAMES = {pid: f"worker-{pid - 300}" for pid in range(300, 319)}


def printed(series: list[CpuSamples], app: Target | None = None, width: int = 90) -> str:
    summary = summarize(series, app_manifest(series, app=app, names=NAMES), "r")
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=width))
    return out.getvalue()


def page(series: list[CpuSamples], names: dict[int, str] = NAMES, app: Target | None = None) -> str:
    manifest = app_manifest(series, names=names, app=app)
    return render_html(summarize(series, manifest, "r"), manifest, series)


def test_the_slowest_threads_stand_below_all_together() -> None:
    text = printed(several_threads())
    assert "wakeups of threads named pacer, 10 s" in text
    assert "40,000 wakeups = 40,000 seen + 0 dropped" in text
    rows = re.findall(r"^(\S+(?: 319)?)  .*µs", text, re.MULTILINE)
    assert rows[0] == "all"
    assert len(rows) == 5
    assert re.search(r"^worker-\d+/3\d\d  ", text, re.MULTILINE)
    assert "the slowest 4 of 20 threads; more are in the report" in text
    for word in ("overrun", "interval", "priority", "cpu 0"):
        assert word not in text


def test_a_thread_without_a_name_is_called_by_its_pid() -> None:
    assert "\npid 319 " in printed(several_threads())


def test_one_thread_is_not_printed_twice() -> None:
    text = printed([woken_cpu_series(range(0, SECOND, 10**6), [5_000] * 1000, 301)])
    assert "worker" not in text


def test_waits_have_a_table_of_their_own_that_trusts_no_name() -> None:
    series = several_threads()
    wait = WaitReport(pid=319, waker=77, waker_name="<b>\x1b[1m", origin="thread",
                      state="uninterruptible", system_call=202, system_call_name="futex",
                      futex=0x7F00, count=20, total_ns=20 * 2**23, longest_ns=2**23,
                      bins=[WaitBin(bin_of(2**23), 20)])  # fmt: skip
    rest = WaitReport(pid=0, count=1, total_ns=7, longest_ns=7, bins=[WaitBin(7, 1)])
    manifest = replace(app_manifest(series), waits=[rest, wait])
    summary = summarize(series, manifest, "r")
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=120))
    text = out.getvalue()
    assert "This time is in no latency" in text
    row = r"pid 319 in futex 0x7f00, uninterruptible, woken by \S+/77 +20 +168 ms +8.39 ms"
    assert re.search(row, text)
    assert text.index("pid 319 in") < text.index("all others")
    assert "before 39,979 wakeups the wait is not known" in text
    html = render_html(summary, manifest, series)
    assert "What its threads waited for" in html
    assert "futex 0x7f00, uninterruptible" in html
    assert "\x1b" not in text + html
    assert "<b>\\" not in html
    assert to_json(summary)["waits"][0]["futex"] == "0x7f00"


def test_a_command_is_shown_as_a_shell_would_take_it() -> None:
    app = CommandTarget(["./pacer", "--say", "two words"])
    assert "wakeups of ./pacer --say 'two words', 10 s" in printed(several_threads(), app)
    assert "wakeups of process 312, 10 s" in printed(several_threads(), PidTarget(312))


@pytest.mark.parametrize("width", [60, 78, 80, 90, 120])
def test_no_figure_is_cut_off_by_a_long_name(width: int) -> None:
    text = printed(several_threads(), width=width)
    assert max(map(len, text.splitlines())) <= width
    worst = [f"{ns / 1000:.0f} µs" for ns in slowest(several_threads())]
    for figure in worst:
        assert figure in text


def slowest(series: list[CpuSamples]) -> list[int]:
    """Return the longest latency of all, and of each of the slowest four threads."""
    found = summarize(series, app_manifest(series), "r")
    threads = [one.latency_ns["max"].value or 0 for one in found.per_thread[:4]]
    return [found.together.latency_ns["max"].value or 0, *threads]


def test_the_page_has_threads_and_then_cpus() -> None:
    text = page(several_threads())
    assert "All threads together, and the slowest 12 of 20 threads" in text
    assert "All 2 CPUs" in text
    assert text.count("worker-") >= 11
    for word in ("overrun", "Overrun", "Measuring threads", " expected"):
        assert word not in text.split('type="application/json"')[0]
    assert "when the timer that woke it expired" in text


def test_names_of_threads_and_programs_are_only_ever_text() -> None:
    evil = "</td><script>alert(1)</script>"
    text = page(several_threads(), dict.fromkeys(range(300, 320), evil), CommandTarget([evil]))
    assert "alert(1)</script>" not in text
    assert "&lt;script&gt;" in text
    series = several_threads()
    manifest = app_manifest(series, names=dict.fromkeys(range(300, 320), "a\x1b[2Jb[bold]"))
    out = io.StringIO()
    print_summary(summarize(series, manifest, "r"), Console(file=out, width=200))
    assert "\x1b" not in out.getvalue()
    assert "[bold]" in out.getvalue()
