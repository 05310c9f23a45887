"""A study of two images: each run is made with its own on the card."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from bench_boards import shell_board
from bench_card import MIB, Card, can_loop, card
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Strip, strip

from study_watchers import StudyLog
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.loads import parse_load
from whylate.study.carry_out import Result, run_study
from whylate.study.journal import StudyJournal
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant
from whylate.study.order import round_of
from whylate.study.restore.cards import Cards, hash_images

pytestmark = [
    pytest.mark.skipif(not can_loop(), reason="needs root and loop devices"),
    pytest.mark.realtime,
    pytest.mark.usefixtures("boards_that_die_at_once"),
]

SIZE = MIB + 123


@dataclass
class Bench:
    """A board with a card in its mux, and two images for it. seen: what its runs found there."""

    directory: Path
    line: SerialLine
    power: Strip
    card: Card
    images: dict[str, Path]
    mux: bool = True

    def environment(self) -> Path:
        resources = [power_port(self.power), serial_port(self.line.path)]
        drivers = [POWER, SERIAL]
        if self.mux:
            resources.append(self.card.resource())
            drivers += ["USBSDMuxDriver: {}", "USBStorageDriver: {}"]
        return environment(self.directory, board7=target(resources=resources, drivers=drivers))

    def plan(self) -> StudyPlan:
        variants = [Variant(name, {"image": str(path)}) for name, path in self.images.items()]
        return StudyPlan(
            workload=Wakeup(duration_ns=200_000_000, interval_ns=1_000_000, priority=80),
            boards=["board7"],
            variants=variants,
            loads=[LoadSet("looking", [parse_load(f"cmd:{self.directory}/look")])],
            stop=Stop("runs", [2]),
            cpus=[0],
            image_sha256=hash_images(variants),
        )

    def carry_out(
        self, plan: StudyPlan, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[Result, list[str]]:
        log, path = StudyLog(), self.environment()
        with StudyJournal(self.directory / "study", plan) as journal:
            result = run_study(
                journal,
                plan,
                lambda name, _: labgrid_board(name, path, options=BenchOptions(boot_s=20.0)),
                log,
                stopped,
            )
            self.made = [run.variant for run in journal.done if not run.failed]
        return result, log.lines

    @property
    def seen(self) -> list[str]:
        """What the card held in each run: the name of an image, or the sum of something else."""
        names = {hashlib.sha256(path.read_bytes()).hexdigest(): name
                 for name, path in self.images.items()}  # fmt: skip
        sums = (self.directory / "seen").read_text().split()[::2]
        return [names.get(name, name) for name in sums]

    def on_the_card(self) -> bytes:
        return self.card.backing.read_bytes()[:SIZE]


@pytest.fixture
def bench(tmp_path: Path, line: SerialLine) -> Iterator[Bench]:
    images = {name: tmp_path / f"{name}.img" for name in ("old", "new")}
    for seed, path in enumerate(images.values()):
        path.write_bytes(random.Random(seed).randbytes(SIZE))
    with card(tmp_path, 4 * MIB) as medium, strip(shell_board(line)) as power:
        look = tmp_path / "look"
        look.write_text(
            f"#!/bin/sh\nhead -c {SIZE} {medium.backing} | sha256sum >>{tmp_path}/seen\n"
            "exec sleep 60\n"
        )
        look.chmod(0o755)
        yield Bench(tmp_path, line, power, medium, images)


def ordered(plan: StudyPlan, number: int, at: int, variant: str) -> StudyPlan:
    """Return the plan with an order in which this variant stands there in that round."""
    for seed in range(100):
        seeded = msgspec.structs.replace(plan, seed=seed)
        if round_of(seeded, "board7", number)[at].variant == variant:
            return seeded
    raise AssertionError


def test_each_run_has_its_image_and_a_boot_and_the_first_one_stays(bench: Bench) -> None:
    result, output = bench.carry_out(bench.plan())
    assert not result.lost
    assert len(bench.made) == 4
    assert bench.seen == bench.made
    assert bench.on_the_card() == bench.images["old"].read_bytes()
    written = sum(turn == "host" for turn in bench.card.turns) / 2
    changes = sum(a != b for a, b in zip(["", *bench.made], [*bench.made, "old"], strict=True))
    assert written == changes, "a card is not worn by what it holds already"
    on = [on for _, on in bench.power.outlets[1].history].count(True)
    assert on == 4 + (bench.made[-1] == "new")
    assert output == ["board7 has {} on its card again".format(bench.images["old"])] * (
        bench.made[-1] == "new"
    )


def test_a_study_that_is_stopped_says_what_it_leaves_on_the_card(bench: Bench) -> None:
    plan = ordered(bench.plan(), 1, 0, "new")
    _, output = bench.carry_out(plan, (bench.directory / "seen").exists)
    assert bench.on_the_card() == bench.images["new"].read_bytes()
    assert output == [f"board7 has {bench.images['new']} on its card"]
    assert bench.made == []


def test_a_host_that_dies_before_it_gives_the_first_image_again_does_it_the_next_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ordered(bench.plan(), 2, -1, "new")
    with monkeypatch.context() as patch:
        patch.setattr(Cards, "leave", lambda *_: "")
        bench.carry_out(plan)
    assert bench.on_the_card() == bench.images["new"].read_bytes()
    _, output = bench.carry_out(plan)
    assert output == [f"board7 has {bench.images['old']} on its card again"]
    assert bench.on_the_card() == bench.images["old"].read_bytes()
    turns = len(bench.card.turns)
    assert bench.carry_out(plan)[1] == []
    assert len(bench.card.turns) == turns
    assert len(bench.seen) == 4


def test_an_image_that_was_built_anew_meanwhile_is_refused(bench: Bench) -> None:
    plan = bench.plan()
    bench.images["new"].write_bytes(b"another")
    with pytest.raises(RequestError, match=r"new on board7: knob image: .* not what it was when"):
        bench.carry_out(plan)
    with pytest.raises(RequestError, match="is a study with another content of an image"):
        bench.carry_out(bench.plan())


def test_a_board_without_a_mux_is_refused(bench: Bench) -> None:
    bench.mux = False
    with pytest.raises(RequestError, match="knob image: board7 has no SD mux"):
        bench.carry_out(bench.plan())
