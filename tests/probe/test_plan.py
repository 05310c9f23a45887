"""A probe that is given all its commands at once, and nobody to talk to."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from whylate import __version__
from whylate.boards.local import LocalBoard
from whylate.probe.link import Link
from whylate.wire.frame import Frame, FrameDecoder
from whylate.wire.messages import (
    MESSAGES,
    CpuResult,
    Done,
    Failed,
    File,
    Finish,
    Hello,
    Message,
    Pause,
    Phase,
    Read,
    Samples,
    Wakeup,
)

SECOND = 1_000_000_000


def carry_out(tmp_path: Path, *commands: Message) -> list[Message]:
    """Let the probe carry out a plan and return all that it frames."""
    frames = bytearray()
    link = Link(frames.extend)
    for command in (Hello(__version__), *commands):
        link.send(command)
    plan = tmp_path / "plan"
    plan.write_bytes(frames)
    done = subprocess.run(
        [str(LocalBoard().binary.path), "--plan", str(plan)],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    decoder = FrameDecoder()
    answers: list[Frame] = list(decoder.feed(done.stdout))
    assert not decoder.counts.damaged
    assert [frame.number for frame in answers] == list(range(1, len(answers) + 1))
    return [MESSAGES[frame.kind].unpack(frame.payload) for frame in answers]


def places(messages: list[Message], kind: type[Message]) -> list[int]:
    return [i for i, message in enumerate(messages) if isinstance(message, kind)]


def test_a_plan_is_carried_out_in_its_order_and_the_probe_ends_by_itself(tmp_path: Path) -> None:
    frames = carry_out(
        tmp_path,
        Wakeup(1_000_000, SECOND // 5, 10, 0, 0, (0,)),
        Read(0, 4096, 0, "/proc/version"),
        Finish(),
    )
    (result,) = places(frames, CpuResult)
    (file,) = places(frames, File)
    assert max(places(frames, Samples)) < result < file
    assert [m.command for m in frames if isinstance(m, Done)] == [2, 3, 4]
    account = frames[result]
    assert isinstance(account, CpuResult)
    assert (account.seen + account.overrun, account.dropped) == (200, 0)


def test_a_pause_keeps_the_next_command_waiting(tmp_path: Path) -> None:
    began = time.monotonic()
    frames = carry_out(tmp_path, Pause(400), Read(0, 64, 0, "/proc/uptime"))
    assert time.monotonic() - began >= 0.4
    assert places(frames, Done)[0] < places(frames, File)[0]


def test_a_plan_longer_than_the_buffers_loses_nothing(tmp_path: Path) -> None:
    reads = [Read(0, 4096, 0, "/proc/self/status") for _ in range(3000)]
    frames = carry_out(tmp_path, *reads)
    assert len(places(frames, File)) == 3000
    assert [m.command for m in frames if isinstance(m, Done)] == list(range(2, 3002))


def test_a_phase_counts_for_the_next_workload_only_and_is_bounded(tmp_path: Path) -> None:
    workload = Wakeup(1_000_000, SECOND // 20, 10, 0, 0, (0,))
    frames = carry_out(tmp_path, Phase(11 * SECOND), workload, Phase(300_000), workload, workload)
    refused = [m for m in frames if isinstance(m, Failed)]
    assert [(m.command, "phase_ns is out of its range" in m.text) for m in refused] == [(2, True)]
    assert len(places(frames, CpuResult)) == 3


@pytest.mark.parametrize("words", [["--plan", "/nonexistent"], ["--plan"], ["--nonsense"]])
def test_a_missing_plan_is_reported(words: list[str]) -> None:
    done = subprocess.run(
        [str(LocalBoard().binary.path), *words],
        capture_output=True,
        timeout=10,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode
    assert done.stderr
