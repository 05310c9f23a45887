"""Counters of the hardware at the marks of executions, on a board whose executions repeat.

With -icount QEMU's PMU counts instructions, and a cycle is a nanosecond.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "virt-arm64"
#: What an instruction takes there.
INSTRUCTION_NS = 2
#: The steps of the board's clock.
STEP_NS = 16


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def measured(directory: Path, function: str, *options: str) -> Result:
    return CliRunner().invoke(
        whylate,
        ["section", function, BOARD, "--virtual-time", "--smp", "1", "--load", "timer:1",
         "--for", "200ms", "--json", "-o", str(directory), *options],
    )  # fmt: skip


def rows_of(directory: Path) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = pq.read_table(directory / "samples.parquet").to_pydict()
    return columns


def test_the_same_executions_have_the_same_counts(tmp_path: Path) -> None:
    result = measured(tmp_path / "r", "hrtimer_forward", "--counters", "cycles,instructions")
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path / "r")
    cycles, instructions = rows["count_cycles"], rows["count_instructions"]
    assert len(cycles) > 1_000
    (count, times), *_ = Counter(instructions).most_common()
    # What differs is how the same code takes a branch.
    assert times > 0.9 * len(instructions)
    assert max(instructions) - min(instructions) < 0.02 * count
    # Each counter is read at the same place of both marks.
    assert {a - INSTRUCTION_NS * b for a, b in zip(cycles, instructions, strict=True)} == {
        cycles[0] - INSTRUCTION_NS * instructions[0]
    }
    # What the hooks count beyond the duration is the same, up to the steps of the clock.
    beyond = [a - b for a, b in zip(cycles, rows["latency_ns"], strict=True)]
    assert max(beyond) - min(beyond) <= 4 * STEP_NS
    counters = json.loads(result.stdout)["section"]["counters"]
    assert (counters["own"], counters["refused"]) == (len(cycles), 0)
    assert counters["fits"][0]["slope"] == pytest.approx(INSTRUCTION_NS)


def test_a_longer_function_has_as_many_more_instructions_as_it_takes_longer(
    tmp_path: Path,
) -> None:
    """The hooks' own part is in both: the difference is that of the code alone."""
    counts, beyond = {}, []
    for function in ("hrtimer_forward", "__hrtimer_run_queues"):
        result = measured(tmp_path / function, function, "--counters", "instructions")
        assert result.exit_code == 0, result.output
        rows = rows_of(tmp_path / function)
        counts[function] = rows["count_instructions"]
        beyond += [
            INSTRUCTION_NS * count - duration
            for count, duration in zip(counts[function], rows["latency_ns"], strict=True)
        ]
    # Whether a timer has expired makes two lengths of one function.
    shorter, longer = counts.values()
    assert max(longer) > max(shorter) + 1_000
    assert max(beyond) - min(beyond) <= 4 * STEP_NS


def test_an_event_that_the_board_has_not_is_named_before_the_run(tmp_path: Path) -> None:
    result = measured(
        tmp_path / "r", "hrtimer_forward", "--counters", "cycles,L1-icache-load-misses"
    )
    assert result.exit_code != 0
    assert "L1-icache-load-misses cannot be counted here" in f"{result.output} {result.exception}"
