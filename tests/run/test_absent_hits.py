"""For a function that the kernel does not have, no function of it is hooked.

Seen in virtual time, where each instruction takes 2 ns: when every function is hooked and unhooked,
the first activation comes 2.0 s later, and when the name is only looked up 0.4 s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "virt-arm64"
#: Between the two.
LOOKED_UP_NS = 1_000_000_000


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def first_due_ns(directory: Path, hits: str) -> int:
    """Return when the first activation of a run was due, ns of the board's clock."""
    result = CliRunner().invoke(
        whylate,
        ["measure", BOARD, "--virtual-time", "--smp", "1", "--for", "20ms", "--no-recorder",
         "--json", "-o", str(directory), "--hits", hits],
    )  # fmt: skip
    assert result.stdout, result.output
    (counted,) = json.loads(result.stdout)["hits"]
    assert counted["count"] == 0
    (cpu,) = json.loads((directory / "manifest.json").read_text())["cpus"]
    return int(cpu["start_ns"])


def test_nothing_is_hooked_for_a_function_that_is_absent(tmp_path: Path) -> None:
    nothing = first_due_ns(tmp_path / "a", "no_such:event")
    absent = first_due_ns(tmp_path / "b", "no_such_function")
    assert absent - nothing < LOOKED_UP_NS
