"""Rows of several CPUs in the order in which they were due."""

from __future__ import annotations

import numpy as np

from whylate.recording.samples import CpuSamples
from whylate.stats.run.in_time import rows_in_time

PERIOD_NS = 1_000


def samples(cpu: int, latency_ns: list[int], start_ns: int) -> CpuSamples:
    n = len(latency_ns)
    return CpuSamples(
        cpu, start_ns, PERIOD_NS, np.arange(n), np.array(latency_ns, np.int64), np.zeros(n, bool)
    )


def test_rows_of_all_cpus_are_merged_by_their_due_times() -> None:
    first, second = samples(0, [10, 11, 12], 0), samples(1, [20, 21], 500)
    assert rows_in_time([first, second]).tolist() == [10, 20, 11, 21, 12]
    assert rows_in_time([first, samples(1, [], 0)]).tolist() == [10, 11, 12]
    assert rows_in_time([]).size == 0


def test_of_a_long_run_a_part_of_each_stretch_is_taken() -> None:
    """Rows hold their own numbers: those that are taken are spread over the whole run."""
    n = 256 * 40
    run = samples(0, list(range(n)), 0)
    taken = rows_in_time([run], most=n // 10)
    assert taken.size == 256 * 4
    assert (np.diff(taken) > 0).all()
    assert np.bincount(taken // 40, minlength=256).tolist() == [4] * 256
    both = rows_in_time([run, samples(1, list(range(n, 2 * n)), 500)], most=n // 5)
    assert np.count_nonzero(both < n) == np.count_nonzero(both >= n) == 256 * 4
