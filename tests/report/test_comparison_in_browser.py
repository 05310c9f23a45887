"""The page of a comparison as a browser shows it: Chromium, from a file, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparison_examples import HOSTILE, arm

from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.report.page.comparison import EffectLine, Effects, Group, render
from whylate.report.page.render import write
from whylate.report.plots.forest import Ratio, forest

pytest.importorskip("playwright")
from playwright.sync_api import Browser
from watched import Watched

SIZES = [(1280, 800), (390, 844)]
#: Texts of a drawing that reach out of it, or into one beside them in their row.
COLLIDING = """() => {
    const found = [];
    for (const drawing of document.querySelectorAll("svg.chart")) {
        const box = drawing.getBoundingClientRect();
        const texts = [...drawing.querySelectorAll("text")].map((one) => [
            one.textContent, one.getBoundingClientRect()]);
        for (const [text, own] of texts) {
            if (own.left < box.left - 1 || own.right > box.right + 1) found.push(text);
            for (const [other, its] of texts)
                if (text !== other && own.left < its.right - 1 && its.left < own.right - 1
                    && own.top < its.bottom - 4 && its.top < own.bottom - 4) found.push(text);
        }
    }
    return found;
}"""


@pytest.fixture(scope="module")
def page_of_a_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arms = [arm("as found", 1.0), arm(f"new{HOSTILE}", 1.4), arm("much faster", 0.002)]
    found = [compare(arms[0], one, Question()) for one in arms[1:]]
    names = ("A", "B", "A×B", "A×B×C×D")
    ratios = [Ratio(name, 0.7 + 0.2 * k, 0.6 + 0.2 * k, 0.8 + 0.2 * k, k == 0)
              for k, name in enumerate(names)]  # fmt: skip
    plots = [forest("p50: ratio of each effect", ratios), forest("max", ratios)]
    effects = Effects(
        [EffectLine(name, HOSTILE * 3, "< 0.001", name == "A") for name in names],
        [plot for plot in plots if plot is not None],
    )
    groups = [
        Group("board, load", arms, found, effects),
        Group(HOSTILE, arms[:2], found[:1], Effects([], [], "two whole rounds are the least")),
    ]
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(path, render("A study", ["as found: as found"], "2026-01-01T00:00:00+00:00", groups))
    return path


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_study_is_shown_quietly_and_nothing_overflows(
    browser: Browser, page_of_a_study: Path, scheme: str, size: tuple[int, int]
) -> None:
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    watched = Watched(page)
    page.goto(page_of_a_study.as_uri())
    # Two comparisons and two plots of effects, then one comparison; and six charts each.
    assert page.locator("svg.chart").count() == 4 + 6 + 1 + 6
    assert page.locator("svg.chart circle.ratio.clear").count() >= 6 + 6 + 1 + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate(COLLIDING) == []
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 0
    assert page.locator("tr.clear").count() == 1
    assert "two whole rounds are the least" in page.locator("p.no-verdict").inner_text()
    assert watched.complaints == []
    assert watched.requests == [page_of_a_study.as_uri()]
    page.close()
