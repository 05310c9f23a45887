"""Boards on one supply are switched on one after the other."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TypeVar

import pytest

from whylate.boards.errors import BoardError
from whylate.boards.power import PowerSequencer

T = TypeVar("T")
#: Two boards that come on within this, on a busy host, came on at the same time.
SETTLE_S = 0.4


def test_two_threads_take_turns_with_a_rest_between_them(tmp_path: Path) -> None:
    sequencer = PowerSequencer(SETTLE_S, tmp_path)
    times: list[tuple[float, float]] = []

    def on() -> None:
        began = time.monotonic()
        time.sleep(0.1)
        times.append((began, time.monotonic()))

    threads = [threading.Thread(target=sequencer.switch_on, args=(on,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    assert all(later[0] - earlier[1] >= SETTLE_S * 0.99 for earlier, later in _pairs(times))


def test_two_processes_take_turns(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from whylate.boards.power import *\n"
        f"PowerSequencer({SETTLE_S}, Path(sys.argv[1])).switch_on("
        "lambda: print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    times = sorted(float(process.communicate(timeout=60)[0]) for process in processes)
    assert all(later - earlier >= SETTLE_S * 0.99 for earlier, later in _pairs(times))


def test_the_first_board_is_not_waited_for(tmp_path: Path) -> None:
    sequencer = PowerSequencer(30.0, tmp_path)
    began = time.monotonic()
    sequencer.switch_on(lambda: None)
    assert time.monotonic() - began < 15.0


def test_a_note_from_before_the_host_was_restarted_is_no_reason_to_wait(tmp_path: Path) -> None:
    (tmp_path / "last-on").write_text(f"{time.clock_gettime(time.CLOCK_BOOTTIME) + 1e6:020.6f}")
    began = time.monotonic()
    PowerSequencer(30.0, tmp_path).switch_on(lambda: None)
    assert time.monotonic() - began < 15.0


def test_a_board_that_does_not_come_on_lets_the_next_one_have_its_turn(tmp_path: Path) -> None:
    sequencer = PowerSequencer(0.0, tmp_path)

    def fail() -> None:
        raise BoardError("the relay is gone")

    with pytest.raises(BoardError, match="the relay is gone"):
        sequencer.switch_on(fail)
    came: list[bool] = []
    sequencer.switch_on(lambda: came.append(True))
    assert came


def test_a_turn_that_never_comes_is_an_error(tmp_path: Path) -> None:
    sequencer, other = PowerSequencer(0.0, tmp_path), PowerSequencer(0.0, tmp_path)
    refused: list[str] = []

    def meanwhile() -> None:
        with pytest.raises(BoardError) as caught:
            other.switch_on(lambda: None, patience_s=0.2)
        refused.append(str(caught.value))

    sequencer.switch_on(meanwhile)
    assert "its supply does not answer" in refused[0]


def _pairs(times: list[T]) -> list[tuple[T, T]]:
    return list(itertools.pairwise(times))
