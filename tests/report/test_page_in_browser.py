"""The page as a browser shows it: Chromium, opened from a file, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_examples import hostile_answer, hostile_run, recorded_run, run_of, staged_run

from app_runs import app_manifest, several_threads
from whylate.recording.workloads.app import CommandTarget
from whylate.report.page.latency import write_report
from whylate.summary.summarize import summarize

pytest.importorskip("playwright")
from playwright.sync_api import Browser
from watched import Watched

SIZES = [(1280, 800), (390, 844)]

#: How many pixels of a plot's canvas have (nearly) the colour that a CSS variable names.
PIXELS = """([plot, variable]) => {
    const canvas = document.querySelector(`#${plot} canvas`);
    if (!canvas) return -1;
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(variable);
    probe.fillRect(0, 0, 1, 1);
    const want = probe.getImageData(0, 0, 1, 1).data;
    const copy = new OffscreenCanvas(canvas.width, canvas.height)
        .getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const got = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    let found = 0;
    for (let i = 0; i < got.length; i += 4)
        if (got[i + 3] > 200 && [0, 1, 2].every((k) => Math.abs(got[i + k] - want[k]) < 12))
            found++;
    return found;
}"""


class WatchedReport(Watched):
    """A report, of which some is drawn on a canvas."""

    def pixels(self, plot: str, variable: str) -> int:
        return int(self.page.evaluate(PIXELS, [plot, variable]))

    def range_of(self, plot: str) -> str:
        """The canvas as an image: it changes when and only when what is drawn changes."""
        return str(self.page.evaluate(f"document.querySelector('#{plot} canvas').toDataURL()"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    runs: dict[str, Any] = {
        "two": run_of(early=12),
        "many": run_of(64, 3_000),
        "hostile": (*hostile_run(), hostile_answer()),
        "short": run_of(1, 40, stall=0),
        "staged": staged_run(),
        "recorded": recorded_run(),
        "app": app_run(),
    }
    return {name: write_report(folder / f"{name}.html", *run) for name, run in runs.items()}


def app_run() -> Any:
    """A run of a watched program, whose threads have names that no page was made for."""
    series = several_threads()
    names = {300 + k: "W" * 15 for k in range(20)}
    manifest = app_manifest(series, names=names, app=CommandTarget(["./pro gram", "-x" * 200]))
    return summarize(series, manifest, "runs/app"), manifest, series


def opened(
    browser: Browser, path: Path, size: tuple[int, int] = SIZES[0], scheme: str = "light"
) -> WatchedReport:
    dark = scheme == "dark"
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    watched = WatchedReport(page)
    page.goto(path.as_uri())
    page.wait_for_selector("#timeline canvas")
    page.wait_for_timeout(100)
    return watched


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["two", "many", "hostile", "short", "staged", "recorded", "app"])
def test_all_plots_are_drawn_quietly_and_nothing_overflows(
    browser: Browser, reports: dict[str, Path], name: str, scheme: str, size: tuple[int, int]
) -> None:
    watched = opened(browser, reports[name], size, scheme)
    plots = [
        "histogram",
        "timeline",
        *(["interrupt", "thread"] if name in ("staged", "recorded") else []),
    ]
    for plot in plots:
        if name != "many":  # many CPUs take their colours from a ramp, not from variables
            assert watched.pixels(plot, "--cpu0") > 20
        assert watched.pixels(plot, "--grid") > 100
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert watched.page.evaluate("document.querySelectorAll('.u-over').length") == len(plots)
    assert watched.complaints == []
    assert watched.requests == [reports[name].as_uri()]
    watched.page.close()


def test_hostile_text_is_shown_and_runs_nothing(browser: Browser, reports: dict[str, Path]) -> None:
    watched = opened(browser, reports["hostile"])
    assert watched.page.evaluate("window.hit") is None
    assert watched.page.locator("img").count() == 0
    shown = watched.page.locator("h1").inner_text()
    assert shown.startswith('</script><img src=x onerror="window.hit=1">')
    assert "\\x1b[2J" in shown
    # The names of what ran, in the drawings.
    assert watched.page.locator("figure.drawing svg svg text").first.text_content() is not None
    watched.page.close()


@pytest.mark.parametrize("size", SIZES)
def test_the_worst_are_drawn_with_their_names_in_their_rows(
    browser: Browser, reports: dict[str, Path], size: tuple[int, int]
) -> None:
    watched = opened(browser, reports["recorded"], size)
    figures = watched.page.locator("figure.drawing")
    assert figures.count() == 5
    first = figures.first
    assert "family" in first.locator("figcaption").inner_text()
    names = first.locator(".names span").all_inner_texts()
    assert names[:3] == ["pieces", "CPU 0", "threads"]
    # A name stands at the height of its row, and what is in the row beside it.
    for index, name in enumerate(names):
        if name not in ("pieces", "threads"):
            continue
        label = first.locator(".names span").nth(index).bounding_box()
        assert label is not None
        rows = first.locator("svg svg").evaluate_all(
            "(all) => all.map((e) => e.querySelector('rect').getBoundingClientRect().y)"
        )
        assert any(abs(y - label["y"]) < 3 for y in rows), name
    # The marks' names are whole: nothing is cut off at the edges.
    frame = first.locator(".tracks > svg").bounding_box()
    assert frame is not None
    for text in first.locator(".mark text").all():
        box = text.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    watched.page.close()


def test_families_stand_in_the_page_with_their_causes(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["recorded"])
    rows = watched.page.locator("table[aria-label='Families of late episodes'] tbody tr")
    texts = rows.all_inner_texts()
    assert texts[0].startswith("A")
    assert any("softirq TASKLET" in text for text in texts)
    assert any("thread rt_task" in text for text in texts)
    watched.page.close()


def test_the_policy_stops_a_script_that_came_in_anyway(
    browser: Browser, reports: dict[str, Path], tmp_path: Path
) -> None:
    text = reports["two"].read_text("utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("</main>", "<script>window.hit = 1</script></main>"), "utf-8")
    watched = opened(browser, broken)
    assert watched.page.evaluate("window.hit") is None
    assert any("Content Security Policy" in complaint for complaint in watched.complaints)
    watched.page.close()


@pytest.mark.parametrize("plot", ["histogram", "timeline"])
def test_the_axis_switches_between_logarithmic_and_linear(
    browser: Browser, reports: dict[str, Path], plot: str
) -> None:
    watched = opened(browser, reports["two"])
    linear, log = (
        watched.page.locator(f"button[data-plot={plot}][data-scale={scale}]")
        for scale in ("linear", "log")
    )
    assert log.get_attribute("aria-pressed") == "true"  # a stall of 30 ms over a body of 9 µs
    before = watched.range_of(plot)
    linear.click()
    watched.page.wait_for_timeout(80)
    assert (linear.get_attribute("aria-pressed"), log.get_attribute("aria-pressed")) == (
        "true",
        "false",
    )
    assert watched.range_of(plot) != before
    log.click()
    watched.page.wait_for_timeout(80)
    assert watched.range_of(plot) == before
    assert watched.complaints == []
    watched.page.close()


def test_negative_latencies_are_counted_where_the_axis_can_not_show_them(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["two"])
    note = watched.page.locator("#histogram-note")
    assert note.inner_text().startswith("24 activations lie left of this axis")
    watched.page.click("button[data-plot=histogram][data-scale=linear]")
    assert note.inner_text() == ""
    watched.page.close()


def test_dragging_zooms_and_a_double_click_shows_all_again(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["two"])
    page = watched.page
    before = watched.range_of("histogram")
    box = page.locator("#histogram .u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 100, steps=4)
    page.mouse.up()
    page.wait_for_timeout(80)
    assert watched.range_of("histogram") != before
    page.mouse.dblclick(box["x"] + 200, box["y"] + 100)
    page.wait_for_timeout(80)
    assert watched.range_of("histogram") == before
    page.close()


def test_keys_and_buttons_zoom_without_a_mouse(browser: Browser, reports: dict[str, Path]) -> None:
    watched = opened(browser, reports["two"])
    page = watched.page
    before = watched.range_of("histogram")
    page.focus("#histogram")
    for key, expected_same in (("+", False), ("ArrowRight", False), ("0", True)):
        page.keyboard.press(key)
        page.wait_for_timeout(80)
        assert (watched.range_of("histogram") == before) is expected_same
    page.click("button[data-plot=histogram][data-range=body]")
    page.wait_for_timeout(80)
    assert watched.range_of("histogram") != before
    page.close()


def test_the_pointer_reads_the_counts_of_a_bin(browser: Browser, reports: dict[str, Path]) -> None:
    watched = opened(browser, reports["two"])
    box = watched.page.locator("#histogram .u-over").bounding_box()
    assert box is not None
    watched.page.mouse.move(box["x"] + 90, box["y"] + 150)
    text = watched.page.locator("#histogram .tip").inner_text()
    assert "µs" in text
    assert "CPU 0" in text
    assert "CPU 1" in text
    watched.page.close()


def test_the_stages_have_one_switch_and_one_legend_for_both_plots(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["staged"])
    plots = ("interrupt", "thread")
    before = [watched.range_of(plot) for plot in plots]
    pressed = watched.page.locator("#stages button[data-scale][aria-pressed=false]")
    pressed.click()
    watched.page.wait_for_timeout(80)
    assert all(watched.range_of(plot) != old for plot, old in zip(plots, before, strict=True))
    watched.page.click("#stages-legend button:has-text('CPU 0')")
    watched.page.wait_for_timeout(80)
    for plot in (*plots, "histogram"):
        assert watched.pixels(plot, "--cpu0") == 0
        assert watched.pixels(plot, "--cpu1") > 20
    watched.page.close()


def test_the_legend_hides_a_cpu_in_both_plots(browser: Browser, reports: dict[str, Path]) -> None:
    watched = opened(browser, reports["two"])
    watched.page.click("#timeline-legend button:has-text('CPU 0')")
    watched.page.wait_for_timeout(80)
    for plot in ("histogram", "timeline"):
        button = watched.page.locator(f"#{plot}-legend button:has-text('CPU 0')")
        assert button.get_attribute("aria-pressed") == "false"
        assert watched.pixels(plot, "--cpu0") == 0
        assert watched.pixels(plot, "--cpu1") > 20
    watched.page.close()


def test_a_change_of_colour_scheme_repaints_without_a_reload(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["two"])
    light = watched.page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--cpu0')"
    )
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_timeout(150)
    dark = watched.page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--cpu0')"
    )
    assert light != dark
    assert watched.pixels("histogram", "--cpu0") > 20
    assert watched.pixels("timeline", "--cpu0") > 20
    watched.page.close()


def test_the_facts_can_be_searched_on_every_size(
    browser: Browser, reports: dict[str, Path]
) -> None:
    for size in SIZES:
        watched = opened(browser, reports["two"], size)
        watched.page.fill("#fact-search", "cpu governor")
        assert watched.page.locator("#facts tbody tr:visible").count() == 1
        assert watched.page.locator("#fact-count").inner_text() == "1 found"
        watched.page.fill("#fact-search", "")
        assert watched.page.locator("#facts details:visible").count() == 6
        watched.page.close()


def test_every_control_can_be_reached_and_has_a_name(
    browser: Browser, reports: dict[str, Path]
) -> None:
    watched = opened(browser, reports["two"])
    nameless = watched.page.evaluate(
        """[...document.querySelectorAll("button, input, a, summary, [tabindex]")].filter((e) =>
            !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length)
            || e.tabIndex < 0).length"""
    )
    assert nameless == 0
    watched.page.close()


def test_text_has_enough_contrast_in_both_schemes(
    browser: Browser, reports: dict[str, Path]
) -> None:
    pairs = [
        ("--text", "--card"),
        ("--soft", "--card"),
        ("--soft", "--page"),
        ("--good", "--good-back"),
        ("--bad", "--bad-back"),
        ("--unsure", "--unsure-back"),
        ("--card", "--accent"),
        ("--good", "--card"),
        ("--late", "--card"),
        ("--text", "--bad-back"),
    ]
    ratio = """([a, b]) => {
        const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = (name) => {
            const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
            const [r, g, b] = [1, 3, 5].map((i) => part(parseInt(hex.slice(i, i + 2), 16)));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const [x, y] = [light(a), light(b)];
        return Math.max(x, y) / Math.min(x, y);
    }"""
    for scheme in ("light", "dark"):
        watched = opened(browser, reports["two"], scheme=scheme)
        for pair in pairs:
            assert watched.page.evaluate(ratio, list(pair)) >= 4.5, (scheme, pair)
        for cpu in range(8):  # lines need 3:1
            assert watched.page.evaluate(ratio, [f"--cpu{cpu}", "--card"]) >= 3, (scheme, cpu)
        watched.page.close()
