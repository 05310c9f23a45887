"""Six boards in one study: three go through it, three others have a defect each."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_boards import BabblingBoard, shell_board
from bench_boot import boot_plan
from bench_card import MIB, Card, can_loop, card
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Outlet, Strip, strip

from small_disk import small_disk
from study_watchers import StudyLog
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.power import SETTLE_S
from whylate.boards.waiting import Waiting
from whylate.recording.reader import open_recording
from whylate.run.progress import Observer, Quiet, Step
from whylate.study import carry_out as carrying_out
from whylate.study.carry_out import Result, run_study
from whylate.study.journal import StudyJournal
from whylate.study.model import FinishedRun, Variant

pytestmark = [
    pytest.mark.skipif(not can_loop(), reason="needs root and loop devices"),
    pytest.mark.realtime,
]

GOOD = ("board1", "board2", "board3")
STUCK, WORN, BABBLING = "board4", "board5", "board6"
BOARDS = (*GOOD, STUCK, WORN, BABBLING)
VARIANTS = ("old", "new")
ROUNDS = 2
#: More than the disk holds that the worn card is on.
SIZE = 3 * MIB + 123
CARD = 8 * MIB


@dataclass(frozen=True)
class Six:
    """What a study of six boards has left."""

    result: Result
    done: list[FinishedRun]
    lines: list[str]
    directory: Path
    power: Strip
    cards: dict[str, Card]

    def outlet(self, board: str) -> list[tuple[float, bool]]:
        """When a board was switched, and to what."""
        return self.power.outlets[BOARDS.index(board) + 1].history


class Welding(Quiet):
    """Welds the contact of a relay while its board is measured the second time."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._measured = 0

    def step(self, step: Step) -> None:
        self._measured += step is Step.MEASURE
        self._outlet.welded = self._measured >= 2


class Watcher(StudyLog):
    """Keeps what is said, and welds a relay."""

    def __init__(self, power: Strip) -> None:
        super().__init__()
        self._welding = Welding(power.outlets[BOARDS.index(STUCK) + 1])

    def observer(self, board: str) -> Observer:
        return self._welding if board == STUCK else super().observer(board)


def image_of(directory: Path, variant: str, board: str) -> Path:
    return directory / f"{variant}-{board}.img"


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Six]:
    directory = tmp_path_factory.mktemp("six")
    for number, (variant, board) in enumerate(itertools.product(VARIANTS, BOARDS)):
        image_of(directory, variant, board).write_bytes(random.Random(number).randbytes(SIZE))
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("WHYLATE_RUN", str(directory / "run"))
        patch.setattr(carrying_out, "PAUSE_S", 0.1)
        patch.setattr("whylate.boards.labgrid.supply.SWITCH_S", 1.0)
        patch.setattr("whylate.boards.labgrid.supply.DIE_S", 1.0)
        patch.setattr("whylate.boards.labgrid.supply.ECHO_S", 0.3)
        small = stack.enter_context(small_disk(directory / "small", 2 * MIB))
        lines, cards = {}, {}
        for board in BOARDS:
            (directory / board).mkdir()
            lines[board] = SerialLine()
            stack.callback(lines[board].close)
            backing = small / "card" if board == WORN else None
            cards[board] = stack.enter_context(card(directory / board, CARD, backing))
        (directory / "usbsdmux").symlink_to(cards[WORN].tool)
        loads = [
            BabblingBoard(line, 6) if board == BABBLING else shell_board(line)
            for board, line in lines.items()
        ]
        power = stack.enter_context(strip(*loads))
        bench = environment(
            directory,
            **{
                board: target(
                    resources=[
                        power_port(power, number),
                        serial_port(lines[board].path),
                        cards[board].resource(),
                    ],
                    drivers=[POWER, SERIAL, "USBSDMuxDriver: {}", "USBStorageDriver: {}"],
                )
                for number, board in enumerate(BOARDS, 1)
            },
        )
        plan = boot_plan(
            [Variant(name, {"image": f"{directory}/{name}-{{board}}.img"}) for name in VARIANTS],
            rounds=ROUNDS,
            boards=BOARDS,
        )
        log = Watcher(power)

        def open_board(name: str, words: tuple[str, ...]) -> LabgridBoard:
            del words
            # The others are on the same busy host, and come to a shell late.
            boot_s = 3.0 if name == BABBLING else 60.0
            options = BenchOptions(boot_s=boot_s, waiting=Waiting(notify=log.log))
            return labgrid_board(name, bench, options=options)

        with StudyJournal(directory / "study", plan) as journal:
            result = run_study(journal, plan, open_board, log, lambda: False)
            done = list(journal.done)
        yield Six(result, done, log.lines, directory, power, cards)


def test_boards_of_a_study_are_switched_on_a_second_apart_and_the_log_says_so(six: Six) -> None:
    times = sorted(when for board in BOARDS for when, on in six.outlet(board) if on)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps) >= SETTLE_S * 0.99, gaps
    awaited = [line for line in six.lines if "was switched on after" in line]
    assert len({line.split()[0] for line in awaited}) >= len(BOARDS) - 3, six.lines
    assert all(line.endswith(": between two boards lies 1 s") for line in awaited), awaited


def test_boards_without_a_defect_have_all_their_runs_and_their_comparisons(six: Six) -> None:
    over = {key.board for key, standing in six.result.standings.items() if standing.over}
    assert over == set(GOOD)
    made = Counter(run.board for run in six.done if not run.failed)
    assert {board: made[board] for board in GOOD} == dict.fromkeys(GOOD, 2 * ROUNDS)
    for board in GOOD:
        held = six.cards[board].backing.read_bytes()[:SIZE]
        assert held == image_of(six.directory, "old", board).read_bytes(), board


def test_each_board_with_a_defect_is_given_up_with_one_line(six: Six) -> None:
    assert set(six.result.lost) == {STUCK, WORN, BABBLING}
    assert not any("\n" in reason for reason in six.result.lost.values())
    assert "the relay sticks" in six.result.lost[STUCK]
    assert "could not be written beyond about" in six.result.lost[WORN]
    assert f"{BABBLING} did not come up within 3 s" in six.result.lost[BABBLING]


def test_what_was_measured_is_kept_also_of_a_board_that_is_given_up_later(six: Six) -> None:
    kept = [run for run in six.done if not run.failed]
    assert sum(run.board == STUCK for run in kept) == 2
    for run in kept:
        manifest = open_recording(six.directory / "study" / run.recording).manifest
        assert manifest.state == "complete"
        assert manifest.board == run.board


def test_a_relay_that_sticks_is_named_as_soon_as_it_does(six: Six) -> None:
    assert any(
        line.startswith(f"{STUCK}: its supply") and "the relay sticks" in line for line in six.lines
    )


def test_all_boards_are_off_at_the_end_but_the_one_whose_relay_sticks(six: Six) -> None:
    states = [outlet.state for outlet in six.power.outlets.values()]
    assert states == [board == STUCK for board in BOARDS]
    assert {card.turns[-1] for card in six.cards.values()} == {"dut"}
