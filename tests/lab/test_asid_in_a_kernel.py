"""asid.h in a kernel: two CPUs, many generations, and a model of their TLBs that is never wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_rig import run_with

from kernel_modules import build_module
from own_boards import own_boards
from whylate.lab.description import virtual_board
from whylate.lab.faults.catalogue import REMEDIES
from whylate.lab.faults.place import SERVICES

pytestmark = pytest.mark.qemu

SOURCE = Path(__file__).with_name("asid_check.c")
HEADERS = tuple(REMEDIES / f"{name}.h" for name in ("asid", "remedy_lock", "remedy_atomic"))
MODULE = "/whylate/asid_check.ko"
LOG = "/sys/kernel/debug/asid_check"


@pytest.fixture(autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc", "virt-arm64"):
        yield


@pytest.mark.parametrize("name", ["pc", "virt-arm64"])
def test_no_two_address_spaces_are_live_under_one_identifier(name: str) -> None:
    board = virtual_board(name)
    files = (
        (MODULE, build_module(board, SOURCE, HEADERS), 0o644),
        (SERVICES, f"insmod {MODULE}\n".encode(), 0o755),
    )
    seen = run_with(name, [], cpus=2, duration_ns=50_000_000, also_read=[LOG], files=files)
    assert "Oops" not in seen.console
    rows = [[int(word) for word in line.split()] for line in seen.files[LOG].split(b"\n") if line]
    assert len(rows) == 6, seen.console[-2000:]
    for _, _, broken, switches, generations, wrong in rows:
        assert switches == 6_000
        # In each generation all address spaces have one identifier each, at most.
        assert generations > switches / 1_000
        assert (wrong > 0) == broken
