"""Runs with a row for each package: one row a package, and one verdict over all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_numbers import compare, refused, write

from whylate.cli import whylate

PACKAGES = ("zlib", "lua", "make")
ASKED = ("--column", "build_s", "--unit", "s", "--by", "kernel", "--pair", "package")


def table(
    ratios: dict[str, float],
    *,
    rounds: int = 8,
    shared: float = 0.0,
    seed: int = 1,
    apart: str = "",
) -> str:
    """Return builds on two kernels, in turns. shared: sd of what a whole run is slower by.

    ratios: of kernel B to A, by package. apart: before the numbers of B's rounds, whose names A
    has not.
    """
    rng = np.random.default_rng(seed)
    lines = ["package,kernel,round,build_s"]
    for number in range(rounds):
        for kernel in "AB":
            run = shared * rng.standard_normal()
            for place, package in enumerate(PACKAGES, 1):
                ratio = ratios.get(package, 1.0) if kernel == "B" else 1.0
                log = run + 0.005 * rng.standard_normal()
                name = f"{apart}{number}" if kernel == "B" else str(number)
                lines.append(f"{package},{kernel},{name},{place * ratio * np.exp(log):.6f}")
    return "\n".join(lines) + "\n"


def rows(found: dict[str, object]) -> dict[str, dict[str, float]]:
    statistics = found["statistics"]
    assert isinstance(statistics, list)
    return {row["name"]: row for row in statistics}


def test_each_package_has_its_interval_and_all_have_one_verdict(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table({"zlib": 0.95, "make": 0.95}))
    found = compare(file, *ASKED, "--run", "round")
    assert found["verdict"] == "better"
    assert found["paired"]
    by_name = rows(found)
    assert list(by_name) == [*PACKAGES, "geometric mean"]
    for name, ratio in (("zlib", 0.95), ("make", 0.95), ("geometric mean", 0.95 ** (2 / 3))):
        row = by_name[name]
        assert row["low"] < ratio < row["high"] < 1
        assert row["p"] <= 0.05
    assert by_name["lua"]["low"] < 1 < by_name["lua"]["high"]
    assert by_name["lua"]["p"] > 0.05


def test_a_package_that_is_slower_outweighs_those_that_are_faster(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table({"zlib": 0.95, "make": 1.05}))
    found = compare(file, *ASKED, "--run", "round")
    assert found["verdict"] == "worse"
    assert "make is" in str(found["why"])
    assert "but" in str(found["why"])


def test_what_a_whole_run_shares_makes_no_packages_differ(tmp_path: Path) -> None:
    # A boot that is 3 % slower slows all packages: taken as 24 values, they would seem to differ.
    wrong = sum(
        compare(
            write(tmp_path / f"{seed}.csv", table({}, shared=0.03, seed=seed)),
            *ASKED, "--run", "round",
        )["verdict"] in ("better", "worse")
        for seed in range(40)
    )  # fmt: skip
    # 5 % are wrong at most: more than 6 of 40 happen once in 100 such tests.
    assert wrong <= 6


def test_runs_of_other_names_are_not_exchanged_in_couples(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table({"zlib": 0.95}, apart="b"))
    found = compare(file, *ASKED, "--run", "round", "--independent")
    assert not found["paired"]
    assert (found["verdict"], found["scope"]) == ("better", "boots")


def test_too_few_runs_show_nothing_however_many_packages(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table(dict.fromkeys(PACKAGES, 0.5), rounds=5))
    found = compare(file, *ASKED, "--run", "round")
    assert found["verdict"] == "no verdict"
    assert "5 pairs can show nothing at 5 %" in str(found["why"])


@pytest.mark.parametrize(
    ("change", "words", "says"),
    [
        (("lua,B,3,", "x,B,3,"), ("--run", "round"), "no row of x in round 0 of kernel A"),
        (("lua,B,3,", "zlib,B,3,"), ("--run", "round"), "kernel B, round 3 with the same package"),
        (("lua,B,3,", "lua,B,3,-"), ("--run", "round"), "is not above 0, and has no ratio"),
        (("lua", "geometric mean"), ("--run", "round"), "a pair is called 'geometric mean'"),
        (("", ""), ("--run", "turn"), "has no column 'turn'"),
        (("", ""), ("--run", "round", "--same", "perl:5%"), "'geometric mean' and each pair"),
        (("", ""), (), "or with --run the column that tells runs of all pairs apart"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(
    tmp_path: Path, change: tuple[str, str], words: tuple[str, ...], says: str
) -> None:
    status, line = refused(write(tmp_path / "t.csv", table({}).replace(*change)), *ASKED, *words)
    assert status == 2
    assert says in line


def test_run_needs_pairs(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table({}))
    words = ("--column", "build_s", "--run", "round")
    assert "--run needs --pair" in refused(file, *words, "--by", "kernel")[1]
    assert "use them with --by" in refused(file, file, *words)[1]


def test_the_terminal_shows_a_row_a_package(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", table({"zlib": 0.95}))
    output = CliRunner().invoke(whylate, ["compare", str(file), *ASKED, "--run", "round"]).output
    assert "adjusted for all 4 statistics" in output
    assert output.count("zlib ") >= 1
