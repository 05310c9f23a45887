"""asid_turns.h in a kernel: two CPUs that interrupt each other, and a model of their TLBs."""

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

SOURCE = Path(__file__).with_name("turns_check.c")
HEADERS = tuple(REMEDIES / f"{name}.h" for name in ("asid_turns", "remedy_atomic"))
MODULE = "/whylate/turns_check.ko"
LOG = "/sys/kernel/debug/turns_check"
SLOTS = 6


@pytest.fixture(autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc", "virt-arm64"):
        yield


@pytest.mark.parametrize("name", ["pc", "virt-arm64"])
def test_no_cpu_uses_what_was_taken_away_or_is_of_another_address_space(name: str) -> None:
    board = virtual_board(name)
    files = (
        (MODULE, build_module(board, SOURCE, HEADERS), 0o644),
        (SERVICES, f"insmod {MODULE}\n".encode(), 0o755),
    )
    seen = run_with(name, [], cpus=2, duration_ns=50_000_000, also_read=[LOG], files=files)
    assert "Oops" not in seen.console
    rows = [[int(word) for word in line.split()] for line in seen.files[LOG].split(b"\n") if line]
    assert len(rows) == 5, seen.console[-2000:]
    for spaces, fault, switches, changes, flushes, interrupts, wrong in rows:
        assert (switches, changes) == (6_000, 750)
        # As many address spaces as slots: only changes, and the first use of a slot, flush.
        assert (flushes > changes * 2 + SLOTS * 2) == (spaces > SLOTS)
        assert (interrupts > 0) == (fault != 2)
        assert (wrong > 0) == (fault != 0)
