"""The page of a section as a browser shows it: Chromium, from a file, without a network."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from report_examples import HOSTILE
from section_journals import Execution

from section_count_examples import counted_recording
from section_examples import executions, floor, lock, recorded
from whylate.report.page.latency import write_report
from whylate.summary.sections import count_executions_of
from whylate.summary.summarize import summarize
from whylate.wire.constants import NameTable
from whylate.wire.messages import Name

pytest.importorskip("playwright")
from playwright.sync_api import Browser
from watched import Watched

LONG = "W" * 4_000
LOCKS = [lock(HOSTILE, LONG, name=LONG, address=7), lock("a", flags=1, name=HOSTILE, address=9)]
LOCKS += [lock(*[LONG[:k] for k in range(60, 68)], address=-k & 0xFFFF_FFFF_FFFF_FFFF)
          for k in range(1, 45)]  # fmt: skip
CASES = ("plain", "hostile", "few", "none longer")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    same = [Execution(301, 1_000 * number, 1_000) for number in range(100)]
    examples = {
        "plain": recorded(folder / "plain", floor(), lock("mutex_lock", "vfs_write", address=9)),
        "hostile": recorded(folder / "hostile", Name(NameTable.PID, 301, HOSTILE), *LOCKS,
                            floor(0, 0, executions=0, error=2, text=HOSTILE), function=HOSTILE,
                            comm=HOSTILE[:15]),
        "few": recorded(folder / "few", *LOCKS, ran=executions()[:12]),
        "none longer": recorded(folder / "none", ran=same),
    }  # fmt: skip
    return {
        name: write_report(folder / f"{name}.html", each.summary, each.manifest, each.series)
        for name, each in examples.items()
    }


def opened(browser: Browser, path: Path, width: int, scheme: str = "light") -> Watched:
    dark = scheme == "dark"
    page = browser.new_page(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
    )
    watched = Watched(page)
    page.goto(path.as_uri())
    page.wait_for_selector("#timeline canvas")
    return watched


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", CASES)
def test_the_page_says_why_some_took_longer_quietly_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str, width: int
) -> None:
    watched = opened(browser, pages[name], width, scheme)
    heading = watched.page.locator("#longer h2")
    assert heading.inner_text() == "Why some executions took longer"
    assert heading.is_visible()
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.page.evaluate("window.hit") is None
    assert watched.page.locator("img").count() == 0
    assert watched.complaints == []
    assert watched.requests == [pages[name].as_uri()]
    watched.page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_classes_and_locks_have_their_rows_and_a_bar(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    watched = opened(browser, pages["plain"], width)
    longer = watched.page.locator("#longer")
    classes = longer.locator("table[aria-label='Classes of longer executions'] tbody tr")
    names = classes.locator("th").all_inner_texts()
    assert [name.strip() for name in names] == [
        "asleep", "preempted", "waiting for a lock: mutex 0x9 at vfs_write", "unexplained",
    ]  # fmt: skip
    assert "54.1 %" in classes.first.inner_text()
    # Parts of the bar lie one after the other, as wide as their shares.
    boxes = longer.locator("svg").first.locator("rect").evaluate_all(
        "(all) => all.map((e) => [e.getBoundingClientRect().x, e.getBoundingClientRect().width])"
    )  # fmt: skip
    whole = sum(wide for _, wide in boxes)
    assert [round(wide / whole, 2) for _, wide in boxes] == [0.54, 0.32, 0.11, 0.03]
    for (x, wide), (after, _) in pairwise(boxes):
        assert after == pytest.approx(x + wide, abs=1)
    locks = longer.locator("table[aria-label='Waits for locks'] tbody tr")
    assert locks.count() == 1
    assert "mutex 0x9" in locks.first.inner_text()
    assert "vfs_write" in locks.first.inner_text()
    assert "mutex_lock" not in locks.first.inner_text()
    watched.page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_long_and_hostile_names_are_whole_in_their_cells(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    watched = opened(browser, pages["hostile"], width)
    table = watched.page.locator("table[aria-label='Waits for locks']")
    assert table.locator("tbody tr").count() == 3
    for cell in table.locator("td").all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        # Nothing of it is cut off.
        assert cell.evaluate("(e) => e.scrollWidth <= e.clientWidth + 1")
    assert 'src=x onerror="window.hit=1"' in table.inner_text()
    assert "?[2J" in table.inner_text()
    watched.page.close()


@pytest.fixture(scope="module")
def counted_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counted")
    recording = counted_recording(folder / "r")
    manifest, executions = recording.manifest, recording.executions
    summary = summarize(recording.series, manifest, "r", executions=executions)
    counted = count_executions_of(manifest, executions, summary.section)
    path = folder / "counted.html"
    return write_report(path, summary, manifest, recording.series, counted=counted)


def test_the_mouse_on_a_dot_marks_its_row_and_its_other_dots_and_the_reverse(
    browser: Browser, counted_page: Path
) -> None:
    watched = opened(browser, counted_page, 1280)
    page = watched.page
    rows = page.locator("#longest tbody tr")
    assert rows.count() == 20
    marked = page.locator(".linked")
    assert marked.count() == 0
    # Of the dots that lie on each other the last is on top: that of the last row.
    dots = page.locator("svg.chart a circle")
    dots.last.hover()
    ident = str(page.locator("svg.chart a").last.get_attribute("href")).removeprefix("#")
    row = page.locator(f"#longest #{ident}")
    # Three counters have a scattergram each; cycles are in all of them.
    assert marked.count() == 1 + 3
    assert "linked" in str(row.get_attribute("class"))
    background = "(e) => getComputedStyle(e).backgroundColor"
    assert len({each.evaluate(background) for each in rows.all()}) == 2
    page.mouse.move(2, 2)
    assert marked.count() == 0
    rows.nth(3).hover()
    links = page.locator("svg.chart a.linked").evaluate_all(
        "(all) => all.map((a) => a.getAttribute('href'))"
    )
    assert links == [f"#{rows.nth(3).get_attribute('id')}"] * 3
    assert watched.complaints == []
    page.close()
