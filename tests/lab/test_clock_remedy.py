"""A slow clock that threads on all CPUs read: with its remedy reads are shared, none is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from fault_rig import run_with

from own_boards import own_boards
from whylate.lab.faults.catalogue import use

pytestmark = pytest.mark.qemu

COUNTS = "/sys/kernel/debug/clock_remedy_counts"
SIZE_NS = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards("virt-arm64"):
        yield


#: By the form: how many calls a read serves at least on four CPUs, and the part of the time of the
#: locked form that a batch takes at most.
@pytest.mark.parametrize(
    ("remedy", "calls_a_read", "part"), [(0, 1, 1.2), (1, 1.8, 0.6), (2, 3, 0.4)]
)
def test_shared_reads_of_a_clock_delay_less_and_never_go_back(
    remedy: int, calls_a_read: float, part: float
) -> None:
    parameters = {"size_us": 1000, "period_us": 20_000, "remedy": remedy}
    faults = [use("clock-remedy", parameters)]
    seen = run_with("virt-arm64", faults, cpus=4, duration_ns=500_000_000, also_read=[COUNTS])
    lines = (line.split() for line in seen.files[COUNTS].decode().splitlines())
    counts = {name: int(count) for name, count in lines}
    assert counts["calls"] > 1000
    # Nobody shares without the remedy.
    if remedy == 0:
        assert counts["reads"] == counts["calls"]
    assert counts["calls"] >= calls_a_read * counts["reads"]
    assert counts["back"] == 0
    # A value that is older than the call is what the relaxed form allows, and makes of sharing.
    assert (counts["old"] > 0) == (remedy == 2)
    held_ns = np.median([event.length_ns for event in seen.events["clock-remedy"]])
    assert held_ns < part * SIZE_NS
    latest_ns = seen.hits("clock-remedy").latency_ns.max()
    assert latest_ns > SIZE_NS / 2 if remedy == 0 else latest_ns < 0.7 * SIZE_NS
