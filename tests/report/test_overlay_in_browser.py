"""The page of several runs as a browser shows it: Chromium, from a file, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_examples import HOSTILE
from section_journals import Execution

from section_examples import executions, recorded
from whylate.compare.overlay import overlay_recordings
from whylate.report.page.overlay import write_overlay

pytest.importorskip("playwright")
from playwright.sync_api import Browser
from watched import Watched


@pytest.fixture(scope="module")
def page_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("overlay")
    usual = [Execution(301, 1_000_000 * n, 1_000 + n % 90) for n in range(900)]
    longer = [Execution(301, 1_000_000 * n, 1_000 + n % 90 + 4_000 * (n % 3 == 0))
              for n in range(900)]  # fmt: skip
    runs = {"usual": usual, "again": usual[::-1], "longer": longer, "few": executions()[:40]}
    for name, ran in runs.items():
        moved = [Execution(301, 1_000_000 * n, each.duration_ns) for n, each in enumerate(ran)]
        recorded(folder / name, ran=moved, function=HOSTILE if name == "few" else "vfs_read")
    write_overlay(folder / "p.html", overlay_recordings([folder / name for name in runs]))
    return folder / "p.html"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_asks_for_nothing_runs_nothing_and_fits(
    browser: Browser, page_of_runs: Path, width: int, scheme: str
) -> None:
    dark = scheme == "dark"
    page = browser.new_page(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
    )
    watched = Watched(page)
    page.goto(page_of_runs.as_uri())
    assert watched.complaints == []
    assert watched.requests == [page_of_runs.as_uri()]
    assert page.locator("script, img, iframe").count() == 0
    statements = page.locator(".statement").all_inner_texts()
    assert statements[0] == "The shapes of runs 1 and 2 cannot be told from each other."
    assert statements[1].startswith("The shape of run 3 differs from each of those of 1 and 2 (p")
    assert statements[2].startswith("Run 4 is in no group: a shape needs 800 executions")
    assert page.locator("#distributions svg.chart").count() == 4
    # One curve of each run, in the colour of its key.
    logarithmic = page.locator("#distributions svg.chart").nth(1)
    assert logarithmic.locator("polyline").count() == 4
    colours = logarithmic.locator("polyline").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).stroke)"
    )
    keys = page.locator("#distributions .keys rect").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).fill)"
    )
    assert colours == keys
    assert len(set(colours)) == 4
    # By group: two runs of one colour.
    by_group = page.locator("#distributions svg.chart").nth(3).locator("polyline")
    groups = by_group.evaluate_all("(all) => all.map((e) => getComputedStyle(e).stroke)")
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3
    assert page.locator("#times svg.chart").count() == 4
    assert page.locator("table[aria-label='Percentiles'] tbody tr").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
