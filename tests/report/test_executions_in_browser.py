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
