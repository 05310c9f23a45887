"""Hits of kernel functions on a kernel that has kprobes, which this machine's need not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "virt-arm64"


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def measured(directory: Path, *names: str) -> Result:
    options = [word for name in names for word in ("--hits", name)]
    return CliRunner().invoke(
        whylate,
        ["measure", BOARD, "--virtual-time", "--smp", "2", "--for", "200ms", "--no-recorder",
         "--json", "-o", str(directory), *options],
    )  # fmt: skip


def test_a_function_is_counted_and_an_absent_one_was_never_hit(tmp_path: Path) -> None:
    result = measured(tmp_path / "r", "hrtimer_nanosleep", "sched:sched_switch", "no_such_function")
    assert result.exit_code == 0, result.output
    function, tracepoint, absent = json.loads(result.stdout)["hits"]
    # Two threads that sleep to each of 200 activations, and hardly anybody else.
    assert 400 <= function["count"] < 500
    assert function["how"] in ("kprobe", "ftrace")
    assert [cpu["cpu"] for cpu in function["cpus"]] == [0, 1]
    assert tracepoint["count"] >= 2 * 400
    assert (absent["count"], "no function no_such_function" in absent["why"]) == (0, True)


def test_a_function_that_nobody_may_probe_is_refused_before_the_run(tmp_path: Path) -> None:
    result = measured(tmp_path / "r", "arch_cpu_idle")
    assert result.exit_code != 0
    assert "the kernel lets nobody probe arch_cpu_idle" in f"{result.output} {result.exception}"
    assert not (tmp_path / "r").exists()
