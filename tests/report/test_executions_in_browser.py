"""The page of executions as a browser shows it: Chromium, from a file, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparison_examples import HOSTILE

from whylate.recording.imported.executions.model import Executions
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.write import read_importable, write_imported
from whylate.report.page.executions import write_executions
from whylate.summary.executions import count_executions, summarize_executions

pytest.importorskip("playwright")
from playwright.sync_api import Browser
from watched import Watched


@pytest.fixture(scope="module")
def page_of_executions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    quoted = HOSTILE.replace('"', '""').replace("\n", " ")
    rows = [f'{30_000 + n},{2800 + n},{20_000 + n},"{quoted}"' for n in range(20)]
    rows += ["45000,8200,21000,f", "9007199254740992,2800,20000,f"]
    heading = '"<img src=x onerror=y> cycles",instructions,l1i_stall,where'
    (folder / "t.csv").write_text("\n".join([heading, *rows]) + "\n")
    (made,) = write_imported(folder / "r", read_importable(folder / "t.csv"))
    imported = read_imported(made)
    assert isinstance(imported.data, Executions)
    counted = count_executions(imported.data, "r")
    write_executions(folder / "report.html", summarize_executions(imported, counted), counted)
    return folder / "report.html"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_asks_for_nothing_and_runs_nothing(
    browser: Browser, page_of_executions: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    watched = Watched(page)
    page.goto(page_of_executions.as_uri())
    assert watched.complaints == []
    assert watched.requests == [page_of_executions.as_uri()]
    assert page.locator("circle").count() == 2 * 22
    assert page.locator("polyline:not(.interval)").count() == 2
    assert page.locator("script, img, iframe").count() == 0
    # Tables scroll by themselves; the page does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_dot_leads_to_the_row_of_its_execution(
    browser: Browser, page_of_executions: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(page_of_executions.as_uri())
    link = page.locator("svg a", has_text="execution 21:").first
    assert "spinning" in str(link.locator("title").text_content())
    link.locator("circle").click()
    assert page.url.endswith("#execution-20")
    row = page.locator("tr:target")
    assert row.locator("th").inner_text() == "21"
    assert "45,000" in row.inner_text()
    plain_row = page.locator("tr#execution-3")
    background = "(e) => getComputedStyle(e).backgroundColor"
    assert row.evaluate(background) != plain_row.evaluate(background)
    page.close()


def test_quantities_are_overlaid_in_multiples_of_their_peaks(
    browser: Browser, tmp_path: Path
) -> None:
    """Instructions go to 2.9 times the most frequent value, stalls to 1.2 times."""
    rows = [f"{28_000 + n % 7},{2_850 + n % 5},{12_000 + n % 9}" for n in range(300)]
    rows += ["45000,8265,14400"]
    (tmp_path / "t.csv").write_text("\n".join(["cycles,instructions,l1i_stall", *rows]) + "\n")
    (made,) = write_imported(tmp_path / "r", read_importable(tmp_path / "t.csv"))
    imported = read_imported(made)
    assert isinstance(imported.data, Executions)
    counted = count_executions(imported.data, "r")
    write_executions(tmp_path / "p.html", summarize_executions(imported, counted), counted)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "p.html").as_uri())
    assert page.locator("#peaks .keys span").all_inner_texts() == [
        "cycles: largest 1.61×", "instructions: largest 2.9×", "l1i_stall: largest 1.2×"
    ]  # fmt: skip
    # The curves go as far to the right as their largest values.
    ends = page.locator("#peaks polyline").evaluate_all(
        """(all) => all.map((e) => {
            const points = [...e.points].filter((p) => p.y < 215.9);
            return Math.max(...points.map((p) => p.x));
        })"""
    )
    assert ends[2] < ends[0] < ends[1]
    assert "99.7 % of executions have" in page.locator("body").inner_text()
    page.close()
