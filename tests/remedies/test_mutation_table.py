"""The table of changes in the docs is complete: each order of each header, and each rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clients import REMEDIES
from mutants import CLIENTS_OF, make_mutants

PAGE = Path(__file__).parents[2] / "docs/how-to/remedies.md"
HEADERS = sorted(header.name for header in REMEDIES.glob("*.h") if header.stem != "remedy_atomic")
ORDERS = r"\b(acquire|release|acq_rel|seq_cst)\b"


def test_each_change_has_a_row_and_is_noticed() -> None:
    rows = re.findall(r"^\| (\w+\.h) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)
    changes = sorted((mutant.header, mutant.name) for mutant in make_mutants())
    assert sorted((header, name) for header, name, _ in rows) == changes
    assert not [row for row in rows if row[2] == "not noticed"]
    assert f"All {len(changes)} changes are noticed" in PAGE.read_text()


@pytest.mark.parametrize("name", HEADERS)
def test_each_order_has_a_name_that_can_be_weakened(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", (REMEDIES / name).read_text(), flags=re.DOTALL)
    code = re.sub(rf"^#define \w+ {ORDERS}$", "", text, flags=re.MULTILINE)
    assert re.search(ORDERS, code) is None
    orders = re.findall(rf"^#define (\w+) {ORDERS}$", text, re.MULTILINE)
    weakened = {mutant.name.split(":")[0] for mutant in make_mutants() if mutant.header == name}
    assert {order for order, _ in orders} <= weakened


def test_each_header_has_clients() -> None:
    assert sorted(CLIENTS_OF) == HEADERS
