from __future__ import annotations

import base64
import hashlib
import json
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from report_examples import (
    HOSTILE,
    INTERVAL_NS,
    START_NS,
    hostile_answer,
    hostile_run,
    manifest_of,
    recorded_run,
    run_of,
    staged_run,
    summary_of,
)
from rich.console import Console

from whylate.recording.manifest import Change, CrashReport, Fact
from whylate.recording.plan import FaultPlan
from whylate.recording.samples import CpuSamples
from whylate.report.page.latency import render_html, write_report
from whylate.report.terminal.latency import print_summary


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_only_the_pages_own_scripts_and_style_are_admitted() -> None:
    page = render_html(*run_of(n=5_000))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    text = policy[1].replace("&#39;", "'")
    assert text.startswith("default-src 'none'")
    assert "unsafe" not in text
    blocks = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    blocks += re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in text
    assert not re.search(r"\son\w+=|\sstyle=|javascript:", re.sub(r"<script.*?</script>", "", page,
                                                                  flags=re.DOTALL))  # fmt: skip


def test_nothing_is_fetched_from_anywhere() -> None:
    page = render_html(*run_of(n=5_000))
    assert not re.search(r"<(?:link|img|iframe|object|base)\b|<script[^>]+src", page)
    assert not re.search(r"url\(|@import", page)


def test_hostile_text_is_escaped_wherever_it_stands() -> None:
    page = render_html(*hostile_run(), hostile_answer())
    # In the facts and words of the run, and in causes, families and drawings.
    assert page.count("&lt;/script&gt;&lt;img src=x onerror=") > 150
    assert not re.search(r"\sstyle=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert "<img" not in page
    assert page.count("</script>") == 4
    assert "&lt;/script&gt;&lt;img src=x onerror=" in page
    assert "49" not in re.findall(r"&amp;(.{0,6})", page)
    assert "\u2028" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert HOSTILE not in page


def test_a_crash_is_shown_with_its_line_and_its_calls_and_a_page_stays_a_page() -> None:
    summary, manifest, samples = run_of(n=5_000)
    assert "Crashes" not in render_html(summary, manifest, samples)
    crash = CrashReport(
        "kernel panic", "Kernel panic - not syncing: x", ["foo+0x1", "bar"], 7, True
    )
    crashed = msgspec.structs.replace(summary, crashes=[crash] * 500)
    page = render_html(crashed, manifest, samples)
    assert "<b>kernel panic</b>: Kernel panic - not syncing: x" in page
    assert "line 7 of console.log" in page
    assert "foo+0x1\nbar" in page
    assert page.count("Kernel panic - not syncing") == 20


def test_a_known_cause_that_acted_is_said() -> None:
    summary, manifest, samples = run_of(n=5_000)
    assert "injected fault" not in render_html(summary, manifest, samples)
    cause = FaultPlan("irqs-off", {"size_us": 300})
    caused = msgspec.structs.replace(summary, causes=[cause])
    assert "injected fault irqs-off size_us=300" in render_html(caused, manifest, samples)
    console = Console(record=True, width=100)
    print_summary(caused, console)
    assert "injected fault irqs-off size_us=300" in console.export_text()


def test_virtual_time_is_said_with_the_digest_by_which_runs_are_told_apart() -> None:
    summary, manifest, samples = run_of(n=5_000)
    assert "virtual time" not in render_html(summary, manifest, samples)
    virtual = msgspec.structs.replace(summary, virtual_time=True, samples_sha256="ab" * 32)
    page = render_html(virtual, manifest, samples)
    assert "no measure of hardware" in page
    assert "abababab" in page


def test_the_stages_plots_hold_every_activation_whose_stage_was_seen() -> None:
    summary, manifest, samples = staged_run()
    data = data_of(render_html(summary, manifest, samples))
    for name, part in (("interrupt", 0.33), ("thread", 0.9)):
        plot, figures = data["stages"][name], summary.together.stages[name]
        counted = sum(sum(column) for column in plot["linear"]["count"])
        assert counted == figures.seen
        assert counted + figures.not_seen == 40_000
        assert sum(map(sum, plot["log"]["count"])) + sum(plot["log"]["below"]) == counted
        longest = max(
            int(one.latency_ns[(one.activation % 50 != 0) & ~one.overrun].max() * part)
            for one in samples
        )
        assert next(mark["ns"] for mark in plot["marks"] if mark["name"] == "max") == longest
    assert data_of(render_html(*run_of(n=5_000)))["stages"] == {}


def test_shares_in_the_table_of_causes_sum_to_all_with_the_rest() -> None:
    page = render_html(*recorded_run())
    shares = re.findall(r'data-label="located share">(−?[\d.]+) %', page)
    assert sum(float(share.replace("−", "-")) for share in shares) == pytest.approx(100, abs=0.5)
    assert re.search(r"\d+ more", page)


def test_the_plots_hold_every_sample() -> None:
    summary, manifest, samples = run_of(3, 20_000, early=9)
    data = data_of(render_html(summary, manifest, samples))
    assert data["cpus"] == [0, 1, 2]
    for at, cpu in enumerate(samples):
        n = cpu.latency_ns.size
        assert sum(data["linear"]["count"][at]) == n
        assert sum(data["log"]["count"][at]) + data["log"]["below"][at] == n
        assert max(filter(None, data["time"]["max"][at])) == cpu.latency_ns.max()
        late = int(cpu.overrun.sum())
        for plot in ("linear", "log", "time"):
            assert sum(data[plot]["overrun"][at][1]) == late


def test_the_figures_stand_in_the_page_without_any_script() -> None:
    page = re.sub(r"<script.*?</script>", "", render_html(*run_of()), flags=re.DOTALL)
    for text in ("≥ 30.4 ms", "120,000", "= 119,970 seen + 30 overrun + 0 dropped", "<noscript>",
                 "95&nbsp;%", "memory × 2", "1.18 GB/s", "kernel.cmdline", "console=ttymxc1,115200",
                 "p99.99 needs 100,000 samples", "the interval has no upper end"):  # fmt: skip
        assert text.replace("&nbsp;", "\u00a0") in page, text


def test_what_is_left_out_is_counted() -> None:
    summary, manifest, samples = run_of(n=5_000)
    many = [Fact(f"group{i % 9}.fact{i}", "-" + "<" * 300, "/proc/x") for i in range(9_000)]
    moved = [Change(f"counter {i}", i, 1.0, "events", "/proc/stat") for i in range(1_000)]
    page = render_html(
        summary, msgspec.structs.replace(manifest, facts=many, changes=moved), samples
    )
    shown = page.count('class="fact"><div>-')
    assert 0 < shown < 9_000
    assert f"{9_000 - shown} more facts are in manifest.json" in page
    assert "700 more changes are in manifest.json" in page
    assert len(page) < 2_000_000


def test_the_worst_of_runs_makes_a_page_below_two_megabytes() -> None:
    rng = np.random.default_rng(0)
    samples = [
        CpuSamples(
            cpu, START_NS, INTERVAL_NS, np.arange(20_000, dtype=np.int64),
            (10 ** rng.uniform(3, 7.5, 20_000)).astype(np.int64), rng.random(20_000) < 0.5,
        )
        for cpu in range(64)
    ]  # fmt: skip
    summary = summary_of(samples)
    facts = [Fact(f"g{i % 50}.name{i}", "v" * 300, "/x" * 50) for i in range(20_000)]
    manifest = msgspec.structs.replace(manifest_of(samples, summary), facts=facts)
    assert len(render_html(summary, manifest, samples).encode()) < 2_000_000


def test_a_run_without_samples_still_makes_a_page() -> None:
    summary, manifest, _ = run_of(1, 5_000)
    nothing = np.zeros(0, np.int64)
    empty = CpuSamples(0, START_NS, INTERVAL_NS, nothing, nothing, nothing.astype(np.bool_))
    assert data_of(render_html(summary, manifest, [empty]))["linear"]["count"] == [[]]
    assert data_of(render_html(summary, manifest, []))["cpus"] == []


def test_ten_million_samples_are_binned_fast_and_in_little_memory() -> None:
    n = 5_000_000
    rng = np.random.default_rng(3)
    samples = [
        CpuSamples(
            cpu, START_NS, 100_000, np.arange(n, dtype=np.int64),
            rng.integers(3_000, 60_000, n), np.zeros(n, np.bool_),
        )
        for cpu in range(2)
    ]  # fmt: skip
    small, manifest, _ = run_of(n=5_000)
    began = time.process_time()
    for cpu in samples:
        np.sort(cpu.latency_ns)
    sorted_at = time.process_time()
    render_html(small, manifest, samples)
    rendered_at = time.process_time()
    # Three times a sort, but for whoever touches samples one by one.
    assert rendered_at - sorted_at < 20 * (sorted_at - began)
    tracemalloc.start()
    render_html(small, manifest, samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 2**20


def test_the_file_appears_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert write_report(path, *run_of(n=5_000)) == path
    assert path.read_text("utf-8").rstrip().endswith("</html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(OSError, match="missing"):
        write_report(tmp_path / "missing" / "report.html", *run_of(n=5_000))
