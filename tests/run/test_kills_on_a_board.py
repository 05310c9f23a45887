"""Probes are killed at random moments on a board: no kprobe, event or program is left there."""

from __future__ import annotations

import os
import random
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from c_programs import FLAGS
from own_boards import own_boards
from whylate import __version__
from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.lab.description import virtual_board
from whylate.lab.faults import build
from whylate.lab.faults.place import SERVICES
from whylate.recording.workloads.section import Hook, KernelFunction, Section
from whylate.run.unattended import Script
from whylate.run.workloads.section import SectionRules
from whylate.wire.messages import Finish, Hello, Phase

pytestmark = pytest.mark.qemu

HERE = Path(__file__).parent
BOARD = "pc"
#: One that is called all the time.
FUNCTION = "vfs_read"
RUN_NS = 200_000_000
SEED = 20
#: Two of each, by default: with its guardian, which is killed before it, and without.
KILLS = int(os.environ.get("WHYLATE_TEST_KILLS", "6"))
HOOKS: tuple[Hook, ...] = ("tracefs", "kprobe", "fentry")
GUARDIAN = ("killed", "spared")


def plan_by(hook: Hook) -> bytes:
    section = Section(duration_ns=RUN_NS, place=KernelFunction(FUNCTION, hook), samples=True)
    if hook == "tracefs":
        section = Section(duration_ns=RUN_NS, place=KernelFunction(FUNCTION, hook))
    script = Script()
    for command in (Hello(__version__), Phase(0), SectionRules().start(section, ()), Finish()):
        script.add(command, set())
    return bytes(script.frames)


@cache
def kills() -> list[tuple[str, str, bool, bool]]:
    """Return of each kill: the hook, its guardian, whether something was left, and is gone now."""
    drawn = random.Random(SEED)
    lines = [
        f"{HOOKS[number % 3]} {GUARDIAN[number // 3 % 2]} {drawn.randrange(1000)}"
        for number in range(KILLS)
    ]
    with own_boards(BOARD) as folder:
        program = folder / "bpf_ids"
        source = HERE / "bpf_ids.c"
        words = [build.COMPILERS["x86_64"][0], *FLAGS, "-static", "-o", str(program), str(source)]
        build.run(words, source.name, folder)
        files = [
            ("/whylate/kills", ("\n".join(lines) + "\n").encode(), 0o644),
            ("/whylate/bpf_ids", program.read_bytes(), 0o755),
            (SERVICES, (HERE / "kills.sh").read_bytes(), 0o755),
            *((f"/whylate/{hook}.plan", plan_by(hook), 0o644) for hook in HOOKS),
        ]
        board = QemuBoard(virtual_board(BOARD), VirtualOptions(cpus=1, files=tuple(files)))
        board.hold(notify_nobody)
        try:
            started = board.carry_out(b"", 1, notify_nobody)
            with closing(started.stream) as stream:
                text = b""
                while piece := stream.read(1 << 16):
                    text += piece
                console = board.console.log.read_text(errors="replace")
        finally:
            board.close()
    rows = [line.split() for line in text.decode().splitlines()]
    assert len(rows) == KILLS, console[-4000:]
    return [(hook, guardian, left == "yes", clean == "yes")
            for hook, guardian, _, left, clean in rows]  # fmt: skip


def test_nothing_is_left_by_a_probe_whose_guardian_lives() -> None:
    rows = [row for row in kills() if row[1] == "spared"]
    assert {row[0] for row in rows} == set(HOOKS)
    assert not [row for row in rows if row[2]]


def test_without_a_guardian_only_kprobe_events_are_left_and_the_next_run_removes_them() -> None:
    rows = [row for row in kills() if row[1] == "killed"]
    assert {row[0] for row in rows} == set(HOOKS)
    assert not [row for row in rows if row[2] and row[0] != "tracefs"]
    assert all(row[3] for row in rows)
