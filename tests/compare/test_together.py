"""Factors of a table that cannot be separated, and comparisons by those that can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whylate.cli import whylate


def compared(tmp_path: Path, rows: list[str], by: str) -> list[dict[str, Any]]:
    file = tmp_path / "t.csv"
    file.write_text("write_allocate,l2_lock,board,us\n" + "\n".join(rows) + "\n")
    result = CliRunner().invoke(
        whylate, ["compare", str(file), "--column", "us", "--by", by, "--independent", "--json"]
    )
    assert result.exit_code in (0, 3), result.output
    document = json.loads(result.stdout)
    return document if isinstance(document, list) else [document]


ALIASED = [f"{n % 2},{['hard', 'soft'][n % 2]},{'ab'[n // 4]},{9 + n % 3 + 4 * (n % 2)}"
           for n in range(8)]  # fmt: skip
CROSSED = [f"{n % 2},{['hard', 'soft'][n // 2 % 2]},a,{9 + n / 10 + 4 * (n % 2)}"
           for n in range(24)]  # fmt: skip


def test_two_factors_that_go_together_in_all_rows_cannot_be_told_apart(tmp_path: Path) -> None:
    (only,) = compared(tmp_path, ALIASED, "write_allocate,l2_lock")
    assert only["verdict"] == "no verdict"
    assert only["why"].startswith(
        "write_allocate and l2_lock cannot be separated: all 4 rows with write_allocate 0 have "
        "l2_lock hard, and all 4 rows with write_allocate 1 have l2_lock soft"
    )


def test_one_row_in_which_a_factor_changes_alone_tells_them_apart(tmp_path: Path) -> None:
    documents = compared(tmp_path, [*ALIASED, "1,hard,a,13"], "write_allocate,l2_lock")
    assert [document["first"]["name"] for document in documents] == [
        "write_allocate 0 (l2_lock hard)",
        "l2_lock hard (write_allocate 1)",
    ]


def test_crossed_factors_are_compared_while_the_other_stays(tmp_path: Path) -> None:
    documents = compared(tmp_path, CROSSED, "write_allocate,l2_lock")
    verdicts = {document["first"]["name"]: document["verdict"] for document in documents}
    assert verdicts == {
        "write_allocate 0 (l2_lock hard)": "worse",
        "write_allocate 0 (l2_lock soft)": "worse",
        "l2_lock hard (write_allocate 0)": "inconclusive",
        "l2_lock hard (write_allocate 1)": "inconclusive",
    }


def test_a_column_that_goes_together_with_the_one_compared_is_named(tmp_path: Path) -> None:
    (only,) = compared(tmp_path, ALIASED, "write_allocate")
    assert any(text.startswith("l2_lock goes together with") for text in only["cautions"])
    (crossed,) = compared(tmp_path, CROSSED, "write_allocate")
    assert not any("together" in text for text in crossed["cautions"])


@pytest.mark.parametrize(
    ("by", "why"),
    [
        ("write_allocate,nope", "no column 'nope'"),
        ("write_allocate,write_allocate", "each once"),
        ("write_allocate,us", "no column 'us'"),
    ],
)
def test_what_is_no_pair_of_factors_is_refused(tmp_path: Path, by: str, why: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text("write_allocate,l2_lock,us\n0,hard,9\n1,soft,12\n")
    result = CliRunner().invoke(whylate, ["compare", str(file), "--column", "us", "--by", by])
    assert result.exit_code != 0
    assert why in f"{result.output} {result.exception}"
