"""A load of packets on a virtual board whose network card has a slow interrupt handler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_modules import build_module
from own_boards import own_boards
from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import ready
from whylate.causes.answer import Answer, explain_recording
from whylate.causes.window.piece import Cause
from whylate.lab.description import virtual_board
from whylate.recording.manifest import LoadDevice, LoadReport
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.loads import parse_load
from whylate.run.measure import measure
from whylate.run.progress import Quiet

pytestmark = pytest.mark.qemu

MODULE = "/whylate/slow_card.ko"
#: Less than what the handler takes, more than most of what a busy host does.
THRESHOLD_NS = 20_000_000


@dataclass(frozen=True)
class Ran:
    """What a run has of its load, and what explain answers."""

    load: LoadReport
    device: LoadDevice
    answer: Answer


@pytest.fixture(scope="module", params=["pc"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    directory = tmp_path_factory.mktemp("card") / "r"
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=8_000_000_000,
            interval_ns=20_000_000,
            recorder=RecorderPlan(threshold_ns=THRESHOLD_NS),
        ),
        loads=[parse_load("net:10.0.2.2,udp,rate=400k")],
    )
    with own_boards(request.param):
        virtual = virtual_board(request.param)
        module = build_module(virtual, Path(__file__).with_name("slow_card.c"))
        options = VirtualOptions(cpus=1, files=((MODULE, module, 0o644),))
        board = QemuBoard(virtual, options)
        board.use_network()
        with ready(board, notify_nobody):
            assert board.run(["insmod", MODULE]).status == 0
            measure(board, plan, directory, Quiet())
        recording = open_recording(directory)
        load = recording.manifest.loads[0]
        assert load.device is not None
        yield Ran(load, load.device, explain_recording(recording))


def test_packets_go_in_both_directions(ran: Ran) -> None:
    assert ran.load.error is None
    assert ran.device.name == "eth0"
    asked_bytes_per_s = 400_000 / 8
    # A busy host takes time from the board, and never adds packets.
    assert 0.5 < ran.device.received_per_s / asked_bytes_per_s < 1.2
    assert 0.5 < ran.device.delivered_per_s / asked_bytes_per_s < 1.2
    assert ran.device.interrupts_per_s > 0


def test_explain_names_the_interrupt_of_the_card(ran: Ran) -> None:
    population = ran.answer.population
    assert population is not None, ran.answer.why_not
    interrupts = [item for item in population.causes if item.cause is Cause.INTERRUPT]
    largest = max(interrupts, key=lambda item: item.share)
    # As /proc/interrupts has it; the load found the same lines.
    assert largest.detail in ran.device.lines
    assert largest.detail.startswith("virtio1")
    assert largest.mean_ns > 2_000_000
    assert largest.in_late > 0.2
