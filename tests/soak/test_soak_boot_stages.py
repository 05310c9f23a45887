"""Stages of boots on consoles: kernels' logs from virtual boards, and text made here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from soak_plans import wakeup_soak
from whylate.recording.console.boot_stages import DEFAULTS, find_boot_stages
from whylate.soak.boot_stages import boot_stages, steps
from whylate.soak.console import Stamp
from whylate.soak.model import BootStage, Cycle
from whylate.soak.summary import summarize

BOOT_LOGS = Path(__file__).parents[1] / "boards" / "data" / "bootlogs"
#: As an i.MX6 board prints it.
LOADERS = (
    b"\r\nU-Boot SPL 2023.01 (Jan 01 2024)\r\nU-Boot 2023.01 (Jan 01 2024)\r\n"
    b"Starting kernel ...\r\n[    0.000000] Booting Linux on physical CPU 0x0\r\n"
    b"[    0.000000] Linux version 6.1.0\r\n[    1.250000] Run /sbin/init as init process\r\n"
    b"board7 login: "
)


def _cycle(number: int, stages: list[BootStage] | None, boot_s: float | None = 2.0) -> Cycle:
    return Cycle(
        cycle=number,
        session=1,
        started="",
        outcome="ok",
        stage="done",
        boot_s=boot_s,
        boot_stages=stages,
    )


@pytest.mark.parametrize("board", ["pc", "virt-arm64", "sabrelite", "raspi3b"])
def test_a_kernel_without_a_boot_loader_has_no_stage_of_one(board: str) -> None:
    log = (BOOT_LOGS / f"{board}.txt").read_bytes()
    names = [stage.name for stage in find_boot_stages(log, DEFAULTS)]
    assert names[0] == "kernel"
    assert not {"rom", "spl", "u-boot", "grub", "systemd", "login"} & set(names)


def test_each_stage_is_seen_once_where_its_words_end() -> None:
    seen = find_boot_stages(LOADERS, DEFAULTS)
    assert [stage.name for stage in seen] == [
        "spl", "u-boot", "handover", "kernel", "init", "login",
    ]  # fmt: skip
    assert LOADERS[: seen[1].end].endswith(b"U-Boot 2")
    assert [stage.kernel_s for stage in seen] == [None, None, None, 0.0, 1.25, None]
    assert {stage.times for stage in seen} == {1}


def test_a_board_that_starts_again_is_seen_twice_until_it_is_up() -> None:
    twice = {stage.name: stage.times for stage in find_boot_stages(LOADERS * 2, DEFAULTS)}
    assert twice["u-boot"] == twice["kernel"] == 2
    once = find_boot_stages(LOADERS * 2, DEFAULTS, booted=len(LOADERS))
    assert {stage.times for stage in once} == {1}


def test_no_pattern_takes_long_and_none_reaches_over_a_line() -> None:
    log = b"a" * (1 << 20) + b"\n" + b"a\nb\n" * 1000
    began = time.process_time()
    assert not find_boot_stages(log, {"slow": ["a*" * 90 + "b"], "lines": ["a*b"]})
    assert time.process_time() - began < 5


def test_a_stage_has_the_time_of_the_piece_in_which_its_words_end() -> None:
    first = LOADERS.index(b"Starting")
    stamps = [Stamp(first, 10.2, 10.25), Stamp(len(LOADERS), 12.0, 12.01)]
    found = boot_stages(LOADERS, stamps, 10.0, DEFAULTS, None)
    assert [(stage.name, stage.at_s, stage.within_s) for stage in found[:3]] == [
        ("spl", 0.25, 0.05), ("u-boot", 0.25, 0.05), ("handover", 2.01, 0.01),
    ]  # fmt: skip
    # Between two lines of the kernel its own clock counts.
    took = dict(steps(_cycle(1, found, 2.5)))
    assert took["kernel", "init"] == pytest.approx(1.25)
    assert took["power", "spl"] == pytest.approx(0.25)
    assert took["login", "up"] == pytest.approx(0.49)


def test_a_summary_says_what_was_not_seen_and_which_boot_was_the_worst() -> None:
    def booted(number: int, at_s: float, times: int = 1) -> Cycle:
        return _cycle(
            number, [BootStage(name="kernel", at_s=at_s, within_s=0.01, times=times)], at_s + 1
        )

    cycles = [booted(1, 0.5), booted(2, 0.9, times=2), booted(3, 0.6), _cycle(4, None)]
    boots = summarize(wakeup_soak(), cycles).boot_stages
    assert boots is not None
    assert boots.boots == 3
    by_name = {stage.name: stage for stage in boots.stages}
    assert by_name["u-boot"].seen == 0
    assert by_name["u-boot"].at is None
    assert (by_name["kernel"].seen, by_name["kernel"].first_repeated) == (3, 2)
    step = next(step for step in boots.steps if step.name == "kernel")
    assert (step.before, step.took.median_s, step.worst_cycle) == ("power", 0.6, 2)


def test_boots_without_a_console_have_no_stages() -> None:
    assert summarize(wakeup_soak(), [_cycle(1, None)]).boot_stages is None
