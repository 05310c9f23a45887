"""Hits of a function that takes no kprobe are counted by ftrace, on a board without BTF.

The notifiers of the kernel are such functions (NOKPROBE_SYMBOL in kernel/notifier.c), and 32-bit
ARM calls one at each switch (thread_notify() in arch/arm/kernel/entry-armv.S): the tracepoint of
switches says how often it must have been hit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "sabrelite"
AT_EACH_SWITCH = "atomic_notifier_call_chain"


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def test_what_no_kprobe_may_count_ftrace_counts_as_often_as_it_runs(tmp_path: Path) -> None:
    names = (AT_EACH_SWITCH, "sched:sched_switch", "do_nanosleep")
    result = CliRunner().invoke(
        whylate,
        ["measure", BOARD, "--virtual-time", "--smp", "1", "--for", "200ms", "--no-recorder",
         "--json", "-o", str(tmp_path / "r"), *(w for name in names for w in ("--hits", name))],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    notified, switched, slept = json.loads(result.stdout)["hits"]
    assert [hits["how"] for hits in (notified, switched, slept)] == [
        "ftrace", "tracepoint", "kprobe"
    ]  # fmt: skip
    # Its filter lets that function alone through: ftrace sees every function of the kernel.
    assert slept["count"] == 200
    assert switched["count"] >= 400
    assert abs(notified["count"] - switched["count"]) <= 0.02 * switched["count"]
