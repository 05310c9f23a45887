"""What can be acted on is named, on a board, and what is innocent beside it is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import starts
from own_boards import own_boards

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc"):
        yield


def causes(fault: str, directory: Path, seconds: int = 1) -> dict[str, float]:
    """The shares of the causes that explain names for a fault, by their names."""
    whylate = [sys.executable, "-m", "whylate"]
    measured = [
        *whylate, "measure", "pc", "--virtual-time", "--for", f"{seconds}s", "--interval", "1ms",
        "--threshold", "50us", "--fault", f"{fault} size_us=200", "-o", str(directory),
    ]  # fmt: skip
    starts.run(measured, check=True, capture_output=True, timeout=300)
    done = starts.run(
        [*whylate, "explain", str(directory), "--json"],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout)
    return {
        f"{row['cause']} {row['detail']}".strip(): row["located_share"] for row in answer["causes"]
    }


def test_the_function_of_irq_work_is_named_with_its_module(tmp_path: Path) -> None:
    shares = causes("self-ipi", tmp_path / "r")
    assert shares["interrupt irq_work: self_ipi_f [self_ipi]"] > 0.8
    assert shares.get("interrupt irq_work: self_ipi_b [self_ipi]", 0) < 0.1
    assert not any("thread self_ipi_b" in name for name in shares)


def test_the_system_call_of_a_section_is_named(tmp_path: Path) -> None:
    shares = causes("long-poll", tmp_path / "r")
    assert shares["preemption disabled poll() in long_poll"] > 0.8
    assert not any("long_poll_b" in name for name, share in shares.items() if share > 0.05)


def test_the_busy_one_of_two_threads_of_one_name_is_named(tmp_path: Path) -> None:
    # It has its other name from its 200th act on, which comes while the run lasts.
    shares = causes("twins period_us=16000", tmp_path / "r", seconds=3)
    (busy,) = [name for name in shares if name.startswith("thread") and "was twins_x" in name]
    assert shares[busy] > 0.8
    others = [share for name, share in shares.items() if "twins_w" in name and name != busy]
    assert all(share < 0.1 for share in others)


def test_a_section_is_named_after_what_ran_and_not_after_where_it_went_to_sleep(
    tmp_path: Path,
) -> None:
    shares = causes("preempt-off", tmp_path / "r")
    assert shares["preemption disabled fault_main [preempt_off] in preempt_off"] > 0.8


@pytest.mark.parametrize(
    ("fault", "at"),
    [
        ("switch-hook", "sched_switch"),
        ("idle-hook", "cpu_idle"),
        ("return-notifier", "fire_user_return_notifiers"),
    ],
)
def test_a_function_that_a_module_has_put_into_the_kernels_way_is_named(
    tmp_path: Path, fault: str, at: str
) -> None:
    shares = causes(fault, tmp_path / "r")
    module = fault.replace("-", "_")
    assert shares[f"hook {module}_f [{module}]"] > 0.9
    # Its bystander had the CPU before.
    assert all(share < 0.03 for name, share in shares.items() if f"{module}_b" in name)
    recorder = json.loads((tmp_path / "r" / "manifest.json").read_text())["recorder"]
    assert at in {hook["at"] for hook in recorder["hooks"] if hook["timed"]}
