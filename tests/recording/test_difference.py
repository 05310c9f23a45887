"""Where two runs part, and one number by which equal runs are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whylate.recording.difference import partings
from whylate.recording.samples import CpuSamples
from whylate.recording.workloads.activations.assembler import SamplesDigest
from whylate.wire.samples import Rows


def cpu_series(cpu: int, latencies: dict[int, int], overruns: tuple[int, ...] = ()) -> CpuSamples:
    numbers = np.array(sorted(latencies), np.int64)
    return CpuSamples(
        cpu=cpu,
        start_ns=1_000,
        interval_ns=1_000_000,
        activation=numbers,
        latency_ns=np.array([latencies[int(n)] for n in numbers], np.int64),
        overrun=np.isin(numbers, overruns),
    )


SAME = dict.fromkeys(range(10), 500)


def test_equal_runs_do_not_part() -> None:
    assert (
        partings(
            [cpu_series(0, SAME), cpu_series(1, SAME)], [cpu_series(0, SAME), cpu_series(1, SAME)]
        )
        == []
    )


def test_the_first_difference_is_found_with_what_lies_round_it() -> None:
    (found,) = partings([cpu_series(0, SAME)], [cpu_series(0, SAME | {4: 501, 7: 600})], context=1)
    assert (found.at.number, found.at.due_ns) == (4, 4_000_000)
    assert (found.at.first_latency_ns, found.at.second_latency_ns) == (500, 501)
    assert [one.number for one in found.around] == [3, 4, 5]
    assert (found.same_before, found.differing) == (4, 2)


def test_an_activation_that_only_one_has_and_another_kind_of_wakeup_are_differences() -> None:
    short = {number: 500 for number in SAME if number != 3}
    (gone,) = partings([cpu_series(0, SAME)], [cpu_series(0, short)])
    assert (gone.at.number, gone.at.second_latency_ns) == (3, None)
    (kind,) = partings([cpu_series(0, SAME)], [cpu_series(0, SAME, overruns=(6,))])
    assert kind.at.number == 6


def test_the_cpu_that_parts_first_in_time_comes_first() -> None:
    found = partings(
        [cpu_series(0, SAME), cpu_series(1, SAME)],
        [cpu_series(0, SAME | {8: 1}), cpu_series(1, SAME | {2: 1})],
    )
    assert [one.cpu for one in found] == [1, 0]


def test_a_cpu_that_only_one_run_measured_parts_at_its_first_activation() -> None:
    (found,) = partings([cpu_series(0, SAME)], [cpu_series(0, SAME), cpu_series(5, SAME)])
    assert (found.cpu, found.at.number, found.at.first_latency_ns) == (5, 0, None)


def digest(*blocks: tuple[int, list[tuple[int, int, bool]]]) -> str:
    taken = SamplesDigest()
    for cpu, rows in blocks:
        columns = list(zip(*rows, strict=True))
        taken.add(
            cpu,
            Rows(
                np.array(columns[0], np.int64),
                np.array(columns[1], np.int64),
                np.array(columns[2], bool),
            ),
        )
    return taken.hexdigest()


ROWS = [(number, 100 + number, number == 3) for number in range(8)]


@given(st.integers(1, 7))
def test_a_digest_does_not_depend_on_how_the_samples_were_shipped(cut: int) -> None:
    assert digest((0, ROWS)) == digest((0, ROWS[:cut]), (0, ROWS[cut:]))
    assert digest((0, ROWS), (1, ROWS)) == digest((1, ROWS), (0, ROWS))


@pytest.mark.parametrize(
    "other", [(2, 999, False), (2, 102, True), (99, 102, False)], ids=["late", "overrun", "number"]
)
def test_a_digest_depends_on_everything_that_was_measured(other: tuple[int, int, bool]) -> None:
    assert digest((0, ROWS)) != digest((0, [*ROWS[:2], other, *ROWS[3:]]))
    assert digest((0, ROWS)) != digest((1, ROWS))
