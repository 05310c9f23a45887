"""What the probe takes for late while a run goes on."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence

import pytest

from c_programs import compile_c

Late = Callable[..., list[bool]]


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Late:
    folder = tmp_path_factory.mktemp("late")
    built = compile_c(
        "cc", "late", ["recorder/threshold.c"], folder, ["-O1", "-fsanitize=undefined"]
    )

    def decide(latencies: Sequence[int], limit_ns: int = 0, tail_ppm: int = 2000) -> list[bool]:
        done = subprocess.run(
            [str(built), str(limit_ns), str(tail_ppm)],
            input="\n".join(map(str, latencies)), capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        return [character == "1" for character in done.stdout]

    return decide


def test_by_rank_the_slowest_part_is_late_and_none_of_the_last_thousandth_is_missed(
    late: Late,
) -> None:
    rng = random.Random(3)
    latencies = [int(10_000 + rng.expovariate(1 / 5_000)) for _ in range(50_000)]
    marked = late(latencies)
    assert 0.0015 < sum(marked) / len(marked) < 0.006
    slowest = sorted(latencies)[-50]
    later = [was for was, ns in zip(marked[5000:], latencies[5000:], strict=True) if ns >= slowest]
    assert all(later)


def test_stalls_among_the_first_are_late_though_the_first_was_the_worst(late: Late) -> None:
    stalls = {60 + 20 * i: 5_500_000 - 1000 * i for i in range(15)}
    latencies = [stalls.get(i, 10_000 + i % 7) for i in range(400)]
    marked = late(latencies)
    assert all(marked[at] for at in stalls)
    assert sum(marked) < 100


def test_equal_latencies_are_not_always_late(late: Late) -> None:
    marked = late([9_330] * 20_000)
    assert sum(marked) < 100
    marked = late([9_330 if i % 100 else 11_000 for i in range(20_000)])
    assert sum(marked) < 300


def test_stalls_that_end_do_not_raise_the_threshold_for_good(late: Late) -> None:
    """After a bad minute the ordinary tail is found again, as the edge falls."""
    rng = random.Random(4)
    bad = [5_000_000] * 100
    good = [int(10_000 + rng.expovariate(1 / 5_000)) for _ in range(400_000)]
    marked = late([*bad, *good])[100 + 200_000 :]
    assert sum(marked) > 200


def test_with_a_limit_exactly_the_latencies_above_it_are_late(late: Late) -> None:
    assert late([99, 100, 101, -5, 10**12], limit_ns=100) == [False, False, True, False, True]


def test_latencies_of_any_size_are_counted(late: Late) -> None:
    marked = late([0, -1, -(2**63), 2**63 - 1, 63, 64, 65, 127, 128, 2**40])
    assert marked[3]
    assert marked[-1]
