"""Soaks that write an image to the card in each cycle: on the bench, with labgrid's own drivers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import starts
from soak_plans import wakeup_soak
from whylate.run.errors import RequestError
from whylate.run.progress import Quiet
from whylate.soak.card import read_card_state, sum_of_image
from whylate.soak.carry_out import Ended, Goal, soak
from whylate.soak.journal import cycle_directory, read_soak
from whylate.soak.model import Cycle

pytest.importorskip("labgrid")
sys.path.append(str(Path(__file__).parents[1] / "bench"))

from bench_boards import CardBoard, card_image
from bench_card import MIB, Card, can_loop, card
from bench_files import MUX, POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Outlet, strip

from whylate.boards.board import notify_nobody
from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.notes import note_image, read_image, state_of

pytestmark = pytest.mark.skipif(not can_loop(), reason="needs root and loop devices")

SIZE = 2 * MIB


def image(path: Path, version: str | None, size: int = SIZE) -> Path:
    return card_image(path, version, size)


class Watcher(Quiet):
    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None: ...


@dataclass
class Bench:
    """A board that boots from the card in its mux; its card has an image that boots."""

    directory: Path
    environment: Path
    card: Card
    outlet: Outlet

    @property
    def soak(self) -> Path:
        return self.directory / "s"

    @property
    def cycles(self) -> list[Cycle]:
        return read_soak(self.soak)[1]

    def words(self, *words: str) -> list[str]:
        return [
            *(sys.executable, "-m", "whylate", "board", "soak", "board7"),
            *("--env", str(self.environment), "-o", str(self.soak), "--off-for", "1ms"),
            *("--run-for", "100ms", *words),
        ]

    def soaked(
        self,
        new: Path,
        recover: Path | None = None,
        *,
        cycles: int = 2,
        watcher: Watcher | None = None,
        sha256: str | None = None,
    ) -> Ended:
        """Carry a soak out in this process; sha256: of the image when the soak began."""
        board = labgrid_board("board7", self.environment, options=BenchOptions(boot_s=20.0))
        plan = wakeup_soak(
            boot_timeout_s=4.0,
            flash=str(new),
            flash_sha256=sha256 or sum_of_image(str(new)),
            recover=str(recover) if recover is not None else None,
            recover_sha256=sum_of_image(str(recover)) if recover is not None else None,
        )
        return soak(board, plan, Goal(cycles=cycles), self.soak, watcher or Watcher())

    def printed_by(self, cycle: int, log: str = "console.log") -> bytes:
        """What the board printed in a cycle."""
        return (cycle_directory(self.soak, cycle) / log).read_bytes()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    here = str(Path(__file__).parents[1] / "bench")
    monkeypatch.setenv("PYTHONPATH", here, prepend=os.pathsep)
    monkeypatch.setattr(supply, "DIE_S", 1.0)
    monkeypatch.setattr(supply, "ECHO_S", 0.2)
    line = SerialLine()
    try:
        with card(tmp_path, 64 * MIB) as medium:
            with medium.backing.open("r+b") as file:
                file.write(image(tmp_path / "before", "7.0-before", 9 * MIB).read_bytes())
            with strip(CardBoard(medium.backing, line)) as power:
                board7 = target(
                    resources=[power_port(power), serial_port(line.path), medium.resource()],
                    drivers=[POWER, SERIAL, *MUX],
                )
                path = environment(tmp_path, board7=board7)
                yield Bench(tmp_path, path, medium, power.outlets[1])
    finally:
        line.close()


def test_after_a_kill_in_a_write_the_image_is_written_again_and_the_card_left_as_found(
    bench: Bench,
) -> None:
    before = bench.card.backing.read_bytes()
    new = image(bench.directory / "new.img", "7.1-new", 32 * MIB)
    command = bench.words("--cycles", "1", "--flash", str(new))
    host = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        with bench.card.backing.open("rb") as medium:
            while os.pread(medium.fileno(), 4096, 0) == before[:4096]:
                assert time.monotonic() < deadline
                assert host.poll() is None
                time.sleep(0.001)
    finally:
        host.kill()
        host.wait()
    state = read_card_state(bench.soak)
    assert state is not None
    assert (state.on_card, state.kept_bytes) == ("unknown", 32 * MIB)
    done = starts.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = " ".join(done.stdout.split())
    assert "1 of 1 read back as written" in printed
    assert "card has again what it had: the first 32 MiB" in printed
    interrupted, cycle = bench.cycles
    assert interrupted.outcome == "interrupted"
    assert cycle.flash is not None
    assert cycle.flash.sha256 == hashlib.sha256(new.read_bytes()).hexdigest()
    assert cycle.flash.verified
    assert cycle.flash.flash_s > 0
    assert b"Linux version 7.1-new" in bench.printed_by(2), "the board booted the image"
    assert bench.card.backing.read_bytes() == before


def test_a_board_that_does_not_boot_is_recovered_and_the_soak_goes_on(bench: Bench) -> None:
    bad = image(bench.directory / "bad.img", None)
    good = image(bench.directory / "good.img", "7.0-good")
    assert bench.soaked(bad, good) == "done"
    assert len(bench.cycles) == 2
    for cycle in bench.cycles:
        assert (cycle.outcome, cycle.stage) == ("no-boot", "boot")
        assert cycle.flash is not None
        assert cycle.flash.recovered, cycle.flash.why_not
        assert b"no image on the card" in bench.printed_by(cycle.cycle)
        assert b"7.0-good" in bench.printed_by(cycle.cycle, "recovery.log")
    assert bench.card.backing.read_bytes()[:SIZE] == good.read_bytes()
    assert not bench.outlet.state


def test_a_board_that_cannot_be_recovered_is_parked_without_power(bench: Bench) -> None:
    bench.outlet.switch(True)
    bad, worse = (image(bench.directory / f"{name}.img", None) for name in ("bad", "worse"))
    assert bench.soaked(bad, worse) == "parked"
    (cycle,) = bench.cycles
    assert cycle.outcome == "no-boot"
    assert cycle.flash is not None
    assert cycle.flash.recovered is False
    assert cycle.flash.why_not == "it did not come up within 4 s"
    assert not bench.outlet.state, "it was on before, and is not switched on again"
    shown = starts.run(
        [sys.executable, "-m", "whylate", "board", "soak", "--show", str(bench.soak)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "0 of 1, with the last good image" in shown.stdout
    assert "worse.img; what it had before is not kept" in " ".join(shown.stdout.split())


def test_a_card_that_does_not_keep_the_image_gets_what_it_had_and_its_note(bench: Bench) -> None:
    before = bench.card.backing.read_bytes()
    board = labgrid_board("board7", bench.environment)
    board.hold(notify_nobody)
    note_image(board, Path("the-image-before.xz"))
    board.close()
    new = image(bench.directory / "new.img", "7.1-new", 9 * MIB)

    class Wearing(Watcher):
        worn = False

        def log(self, text: str) -> None:
            """Flip a bit of the card, once, while it is read back."""
            if text.startswith("reading the card back: 4 of") and not self.worn:
                self.worn = True
                with bench.card.backing.open("r+b") as file:
                    file.seek(7 * MIB)
                    file.write(bytes([new.read_bytes()[7 * MIB] ^ 1]))

    assert bench.soaked(new, cycles=1, watcher=Wearing()) == "done"
    (cycle,) = bench.cycles
    assert (cycle.outcome, cycle.stage) == ("flash-failed", "flash")
    assert f"at offset {7 * MIB}" in cycle.why
    assert cycle.flash is not None
    assert not cycle.flash.verified
    assert cycle.flash.recovered, cycle.flash.why_not
    assert bench.card.backing.read_bytes() == before
    assert b"7.0-before" in bench.printed_by(1, "recovery.log")
    noted = read_image(state_of(board))
    assert noted is not None
    assert noted.image == "the-image-before.xz"


def test_an_image_that_changed_since_the_soak_began_is_not_written(bench: Bench) -> None:
    before = bench.card.backing.read_bytes()
    new = image(bench.directory / "new.img", "7.1-new")
    with pytest.raises(RequestError, match=r"new\.img is not what it was when the soak began"):
        bench.soaked(new, sha256="0" * 64)
    assert bench.card.backing.read_bytes() == before
