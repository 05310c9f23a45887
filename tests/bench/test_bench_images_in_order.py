"""Images in order on a board of the bench: each run has its image on the card, then the first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench_boards import shell_board
from bench_card import MIB, Card, can_loop, card
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import strip

from whylate.bisect.ordered.versions import Wanted
from whylate.bisect.ordered_images.model import OrderedImagesPlan, ordered_images_plan
from whylate.bisect.ordered_images.versions import ImageVersions
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.run.progress import Quiet
from whylate.study.plan_file import read_plan_file

pytestmark = [
    pytest.mark.skipif(not can_loop(), reason="needs root and loop devices"),
    pytest.mark.usefixtures("boards_that_die_at_once"),
]
SIZE = 70_000


@dataclass
class Kept(Quiet):
    """Keeps the lines that stay visible."""

    lines: list[str] = field(default_factory=list)

    def log(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(text)


@dataclass
class Bench:
    """A board with a card in its mux, and three images."""

    directory: Path
    environment: Path
    card: Card
    images: list[Path]

    def plan(self) -> OrderedImagesPlan:
        path = self.directory / "plan.toml"
        path.write_text("boards = ['board7']\n[cmd]\ncommand = ['true']\nrounds = 1\n")
        names = [str(image) for image in self.images]
        return ordered_images_plan(read_plan_file(path), path, names, "CPU time", 0.95, 100)

    def versions(self, plan: OrderedImagesPlan) -> ImageVersions:
        """Return the versions as a process has them that has just begun."""
        return ImageVersions(
            plan, self.directory / "b",
            lambda name, _: labgrid_board(
                name, self.environment, options=BenchOptions(boot_s=20.0)
            ),
            lambda: False,
        )  # fmt: skip

    def on_the_card(self) -> int:
        """Which image the card holds."""
        held = self.card.backing.read_bytes()[:SIZE]
        return [image.read_bytes() for image in self.images].index(held)


@pytest.fixture
def bench(tmp_path: Path, line: SerialLine) -> Iterator[Bench]:
    images = [tmp_path / f"2026-0{number}.img" for number in (1, 2, 3)]
    for seed, path in enumerate(images):
        path.write_bytes(random.Random(seed).randbytes(SIZE))
    (tmp_path / "b").mkdir()
    with card(tmp_path, 4 * MIB) as medium, strip(shell_board(line)) as power:
        board7 = target(
            resources=[power_port(power), serial_port(line.path), medium.resource()],
            drivers=[POWER, SERIAL, "USBSDMuxDriver: {}", "USBStorageDriver: {}"],
        )
        yield Bench(tmp_path, environment(tmp_path, board7=board7), medium, images)


def test_each_run_has_its_image_also_after_a_kill_and_the_first_one_stays(bench: Bench) -> None:
    plan, log = bench.plan(), Kept()
    for number, place in enumerate((1, 2), 1):
        # A process that was killed knows nothing of what the card holds; the next one writes it.
        versions = bench.versions(plan)
        directory = bench.directory / f"b/runs/{number:04d}"
        value, unit = versions.attempt(Wanted(place), "board7", number, directory, log)
        assert unit == "s"
        assert value < 0
        assert bench.on_the_card() == place
    versions = bench.versions(plan)
    assert versions.leave(log, over=False) == ""
    assert bench.on_the_card() == 2
    assert versions.leave(log, over=True) == ""
    assert bench.on_the_card() == 0
    assert log.lines[-2:] == [
        "board7: what its card holds is not known",
        f"board7 has {bench.images[0]} on its card again",
    ]
    turns = len(bench.card.turns)
    assert versions.leave(log, over=True) == ""
    assert len(bench.card.turns) == turns
