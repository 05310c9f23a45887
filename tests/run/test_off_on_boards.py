"""Interrupts and preemption disabled on boards whose faults log for how long they did that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kernel_modules import build_module
from own_boards import own_boards
from whylate.cli import whylate
from whylate.lab.description import VirtualBoard
from whylate.lab.faults import build, place
from whylate.lab.faults.catalogue import Fault

pytestmark = pytest.mark.qemu

PERIOD_NS = 53_000
LENGTH, LENGTH_S = "800ms", 0.8
#: From the fault's reading of the clock to where interrupts are enabled, at most.
NEAR_NS = 20_000
#: A case: board, what is sampled, the fault.
LONG = ("pc", "irqs-off", "irqs-off size_us=500 period_us=10000")
SHORT = ("pc", "irqs-off", "irqs-off size_us=20 period_us=500 jitter_us=200")
ARM = ("virt-arm64", "irqs-off", "irqs-off size_us=500 period_us=10000")
#: Without BTF: by perf's own records.
ARM_32 = ("sabrelite", "irqs-off", "irqs-off size_us=500 period_us=10000")
PREEMPTION = ("pc", "preempt-off", "preempt-off size_us=500 period_us=10000")
#: Of the callers of a stretch.
ALL = 24

Case = tuple[str, str, str]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_boards("pc", "virt-arm64", "sabrelite"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, "modules", cross_modules)
        yield tmp_path_factory.mktemp("off")


def cross_modules(
    board: VirtualBoard, faults: Sequence[Fault], *_: object, **__: object
) -> dict[str, bytes]:
    """Return the modules of faults for a board of any architecture."""
    return {fault.name: build_module(board, fault.source_file, build.HEADERS) for fault in faults}


class Sampled:
    """A recording, and the fault's log of the time that was sampled."""

    def __init__(self, directory: Path) -> None:
        manifest = json.loads((directory / "manifest.json").read_bytes())
        self.document: dict[str, Any] = {}
        self.off = manifest["turns"][0]["off"]
        self.rows = pq.read_table(directory / "stretches.parquet").to_pydict()
        faults = json.loads((directory / "faults.json").read_bytes())
        events = [event for fault in faults for event in fault["events"]]
        self.begin_ns = np.array([event[0] for event in events], np.int64)
        self.length_ns = np.array([event[1] for event in events], np.int64)

    def groups(self, module: str, callers: int) -> list[int]:
        """The groups with a function of a module among the innermost of their callers."""
        return [
            group["group"]
            for group in self.off["groups"]
            if group["why"] == "disabled"
            and any(f"[{module}]" in caller for caller in group["callers"][:callers])
        ]


@cache
def sampled(directory: Path, case: Case) -> Sampled:
    board, what, fault = case
    here = directory / "-".join((board, what, str(abs(hash(fault)))))
    counters = ["--counters", "cycles,instructions"] if case == ARM else []
    result = CliRunner().invoke(
        whylate,
        ["section", what, board, "--virtual-time", "--smp", "1", "--for", LENGTH, "--json",
         "--fault", fault, "-o", str(here), *counters],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    run = Sampled(here)
    run.document = json.loads(result.stdout)
    return run


def logged_ns(run: Sampled) -> int:
    """Return what the fault logged per second, from the mean of its log and how often it acts."""
    gaps_ns = np.diff(run.begin_ns)
    return int(1e9 * run.length_ns.mean() / gaps_ns.mean())


def seen_ns(run: Sampled, module: str, callers: int = 1) -> float:
    """Return the time in a second in which a module disabled it, by the samples."""
    groups = run.groups(module, callers)
    points = sum(run.off["groups"][group]["points"] for group in groups)
    return float(points) * PERIOD_NS / LENGTH_S


@pytest.mark.parametrize("case", [LONG, ARM, ARM_32], ids=lambda case: case[0])
def test_the_time_disabled_is_what_the_fault_logged(directory: Path, case: Case) -> None:
    run = sampled(directory, case)
    assert seen_ns(run, "irqs_off") == pytest.approx(logged_ns(run), rel=0.05)


@pytest.mark.parametrize("case", [LONG, ARM, ARM_32], ids=lambda case: case[0])
def test_each_stretch_of_the_fault_is_seen_and_named(directory: Path, case: Case) -> None:
    run = sampled(directory, case)
    seen = np.array(run.rows["seen_ns"])
    named = np.isin(run.rows["group"], run.groups("irqs_off", 1))
    lasting = seen >= PERIOD_NS
    assert 76 <= lasting.sum() <= 81
    assert named[lasting].mean() >= 0.95
    length_ns = run.length_ns.mean()
    assert (seen[lasting & named] <= length_ns + NEAR_NS).all()
    assert (seen[lasting & named] > length_ns - PERIOD_NS - NEAR_NS).all()


def test_shorter_stretches_than_the_period_are_in_the_time(directory: Path) -> None:
    run = sampled(directory, SHORT)
    figure = run.document["off"]
    assert run.off["groups"][run.groups("irqs_off", 1)[0]]["lasting"] == 0
    ours = seen_ns(run, "irqs_off")
    others_ns = figure["per_second_ns"] - ours
    assert figure["low_ns"] - others_ns <= logged_ns(run) <= figure["high_ns"] - others_ns


@pytest.mark.parametrize("case", [LONG, ARM, ARM_32], ids=lambda case: case[0])
def test_nothing_but_the_fault_lasts_and_no_other_is_named(directory: Path, case: Case) -> None:
    run = sampled(directory, case)
    ours = run.groups("irqs_off", 1)
    others = [group for group in run.off["groups"] if group["group"] not in ours]
    assert sum(group["lasting"] for group in others) == 0
    assert all(mark["comm"] == "irqs_off" for mark in run.off["longest"] if mark["points"] > 1)
    not_known = run.document["off"]["not_known"]
    assert not_known["points_user"] == 0
    # QEMU may deliver a timer's interrupt late where nothing disables it: that has no cause there.
    points = sum(group["points"] for group in run.off["groups"])
    assert not_known["points_unknown"] <= 0.01 * points


def test_the_longest_have_counts_from_the_timer_before_to_their_end(directory: Path) -> None:
    run = sampled(directory, ARM)
    marks = [mark for mark in run.document["off"]["longest"] if mark["comm"] == "irqs_off"]
    assert len(marks) >= 60
    for mark in marks:
        assert mark["low_ns"] <= mark["counted_ns"] <= mark["high_ns"] + NEAR_NS
        # The emulated CPU counts a cycle a nanosecond.
        assert mark["counts"]["cycles"] == pytest.approx(mark["counted_ns"], rel=0.02)
        assert 0 < mark["counts"]["instructions"] <= mark["counts"]["cycles"]


@pytest.mark.usefixtures("directory")
def test_a_board_without_counters_is_refused_with_the_reason(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        whylate,
        ["section", "irqs-off", "pc", "--virtual-time", "--smp", "1", "--for", "1s",
         "--counters", "cycles", "-o", str(tmp_path / "r")],
    )  # fmt: skip
    assert result.exit_code != 0
    assert "cycles cannot be counted here" in str(result.exception)


def test_preemption_disabled_is_what_the_fault_logged(directory: Path) -> None:
    run = sampled(directory, PREEMPTION)
    assert seen_ns(run, "preempt_off", ALL) == pytest.approx(logged_ns(run), rel=0.05)
    lasting = [mark for mark in run.document["off"]["longest"] if mark["low_ns"] >= PERIOD_NS]
    assert all(mark["comm"] == "preempt_off" for mark in lasting)
    length_ns = run.length_ns.mean()
    assert all(mark["low_ns"] <= length_ns + NEAR_NS <= mark["high_ns"] + 2 * NEAR_NS
               for mark in lasting)  # fmt: skip


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(("what", "words", "reason"), [
    ("preempt-off", (), "without BPF the kernel's count is not read"),
    ("irqs-off", ("--counters", "cycles"), "without BPF there are no counters"),
])  # fmt: skip
def test_what_takes_bpf_is_refused_without(
    tmp_path: Path, what: str, words: tuple[str, ...], reason: str
) -> None:
    result = CliRunner().invoke(
        whylate,
        ["section", what, "sabrelite", "--virtual-time", "--smp", "1", "--for", "1s", *words,
         "-o", str(tmp_path / "r")],
    )  # fmt: skip
    assert result.exit_code != 0
    assert reason in " ".join((result.output + str(result.exception)).split())


def test_a_kernel_that_does_not_count_is_refused(directory: Path) -> None:
    result = CliRunner().invoke(
        whylate,
        ["section", "preempt-off", "virt-arm64", "--virtual-time", "--smp", "1", "--for", "1s",
         "-o", str(directory / "refused")],
    )  # fmt: skip
    assert result.exit_code != 0
    assert "does not count what disables preemption" in result.output
