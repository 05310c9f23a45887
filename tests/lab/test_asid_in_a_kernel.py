"""asid.h and asid_turns.h in a kernel: two CPUs and a model of their TLBs that is never wrong."""

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

HERE = Path(__file__).parent
SLOTS = 6


@pytest.fixture(autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc", "virt-arm64"):
        yield


def logged(name: str, check: str, *remedies: str) -> list[list[int]]:
    """Run a module of this folder on a board and return the rows of its log."""
    module, log = f"/whylate/{check}.ko", f"/sys/kernel/debug/{check}"
    headers = [REMEDIES / f"{remedy}.h" for remedy in (*remedies, "remedy_atomic")]
    headers.append(HERE / "check_module.h")
    files = (
        (module, build_module(virtual_board(name), HERE / f"{check}.c", headers), 0o644),
        (SERVICES, f"insmod {module}\n".encode(), 0o755),
    )
    seen = run_with(name, [], cpus=2, duration_ns=50_000_000, also_read=[log], files=files)
    assert "Oops" not in seen.console
    rows = [[int(word) for word in line.split()] for line in seen.files[log].split(b"\n") if line]
    assert rows, seen.console[-2000:]
    return rows


@pytest.mark.parametrize("name", ["pc", "virt-arm64"])
def test_no_two_address_spaces_are_live_under_one_identifier(name: str) -> None:
    rows = logged(name, "asid_check", "asid", "remedy_lock")
    assert len(rows) == 6
    for _, _, broken, switches, generations, wrong in rows:
        assert switches == 6_000
        # In each generation all address spaces have one identifier each, at most.
        assert generations > switches / 1_000
        assert (wrong > 0) == broken


@pytest.mark.parametrize("name", ["pc", "virt-arm64"])
def test_no_cpu_uses_what_was_taken_away_or_is_of_another_address_space(name: str) -> None:
    rows = logged(name, "turns_check", "asid_turns")
    assert len(rows) == 5
    calm = rows[0][4]
    for spaces, fault, switches, changes, flushes, interrupts, wrong in rows:
        assert (switches, changes) == (6_000, 750)
        if spaces <= SLOTS:
            # Only changes, and the first use of a slot, flush.
            assert flushes <= (changes + SLOTS) * 2
        else:
            # With 7 address spaces one switch in 7 needs a slot that another has.
            assert flushes > calm + switches / 20
        assert (interrupts > 0) == (fault != 2)
        assert (wrong > 0) == (fault != 0)
