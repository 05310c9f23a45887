"""Clocks of a virtual PC in virtual time: its HPET with each form, and what is added to a clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "pc"


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def points(directory: Path, *options: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(
        whylate,
        ["bench", "clock", BOARD, "--virtual-time", "--smp", "2", "--json", "-o", str(directory),
         *options],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["points"]
    return found


def test_the_hpet_is_read_in_each_form_and_never_goes_backwards(tmp_path: Path) -> None:
    found = points(
        tmp_path / "r", "--via", "hpet", "--remedy", "direct,relaxed,strict,locked", "--threads",
        "1,2", "--rounds", "2", "--repetitions", "1", "--block", "2ms",
    )  # fmt: skip
    assert len(found) == 8
    for item in found:
        assert item["ns_per_call"]["value"] > 0
        assert item["checks"] > 100
        assert item["backward_steps"] == 0
        # Readings of the HPET cannot be compared with the moment of a call.
        assert not item["ages"]
        # An emulated read is shorter than what is worth sharing.
        if item["parameters"]["remedy"] in ("relaxed", "strict"):
            assert item["shared_turns"] == 0
            assert item["alone_ns"] < item["break_even_ns"]
            assert 0.8 < item["times_direct"]["value"] < 1.0


def test_a_microsecond_and_ten_ppm_that_were_added_are_found_together(tmp_path: Path) -> None:
    (only,) = points(
        tmp_path / "r", "--between-cpus", "--add-offset", "1us", "--add-rate", "10", "--rounds",
        "6", "--repetitions", "4", "--block", "10ms", "--kernel-arg", "tsc=reliable", "--set",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource=tsc",
    )  # fmt: skip
    offset, rate = only["offset_ns"], only["rate_ppm"]
    assert only["constant_rate"]
    assert rate["low"] < 10 < rate["high"]
    assert rate["low"] > 0
    # The clocks of the board are one, and the rate counts from the clock's epoch on.
    by_rate = 1e-5 * only["at_ns"]
    assert offset["low"] < 1000 + by_rate < offset["high"]
    # It is more than the rate alone makes.
    assert offset["low"] > by_rate
    assert offset["high"] - offset["low"] < 1000
