"""Hybrids that a command of the user's brings onto a board of the bench (--apply).

Which of its differences are in force is what the command has printed, and for words of the command
line what the board reports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench_boot import LoaderBoard
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import strip

from bisect_roots import write_root
from two_variants import Silent
from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.find import find_differences
from whylate.bisect.images.model import LAYOUT
from whylate.bisect.images.plan import images_plan, study_of
from whylate.bisect.images.pool import Pool
from whylate.bisect.images.provision import ImageProvisioner
from whylate.bisect.images.roots import Roots
from whylate.bisect.images.store import Store
from whylate.bisect.sets.carry_out import bisect_sets
from whylate.bisect.sets.journal import SetsJournal
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.sides.read import read_side
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.stats.search.model import Hybrid, Purpose
from whylate.study.plan_file import read_plan_file

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root"),
    pytest.mark.usefixtures("boards_that_die_at_once"),
]
FIRST = {
    "boot/cmdline.txt": "console=ttyS0 skew_tick=1\n",
    "etc/count": "1\n",
    "etc/beyond": "first\n",
}
SECOND = {
    "boot/cmdline.txt": "console=ttyS0 skew_tick=0 stubborn\n",
    "etc/count": "2\n",
    "etc/beyond": "second\n",
}


def bisect(
    directory: Path, plan: Path, bench: Path, apply: Sequence[str]
) -> tuple[list[str], list[MadeRun]]:
    """Return the names of the items, and the runs."""
    names = [str(directory / name) for name in ("first", "second")]
    first, second = (read_side(name, lambda _: None) for name in names)
    study = study_of(read_plan_file(plan), plan, names)
    patterns: dict[str, list[str]] = {"exclude": [], "keep": [], "pin": []}
    wanted = images_plan(study, (first, second), patterns, list(apply), "CPU time", 100, 0.3)
    differences = find_differences(first, second, Choice())
    with (
        SetsJournal(directory / "b", LAYOUT, wanted) as journal,
        Pool(directory / "b/pool") as pool,
    ):
        roots = Roots(first, second, differences, [], pool)
        with Store(roots, directory / "b", keep=False) as store:
            bisect_sets(
                journal, ImageProvisioner(wanted, roots, store),
                lambda name, _: labgrid_board(name, bench, options=BenchOptions(boot_s=20.0)),
                Silent(), lambda: False,
            )  # fmt: skip
        return [item.name for item in roots.items], journal.lines


def test_what_a_board_took_of_a_hybrid_is_in_force_and_nothing_else(
    tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_root(tmp_path / "first", FIRST)
    write_root(tmp_path / "second", SECOND)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "boards = ['board7']\nwarm_up = 'none'\n"
        "[cmd]\nrounds = 1\ncommand = ['grep', '-q', '2', '/boot/count']\n"
    )
    everything = Hybrid(np.ones(4, bool), fast_base=False, board=0, purpose=Purpose.SCREEN)
    steps = [(everything,)]
    place = "whylate.bisect.sets.carry_out"
    monkeypatch.setattr(f"{place}.advance", lambda *_: steps.pop() if steps else None)
    monkeypatch.setattr(f"{place}.standing_of", lambda *_: None)
    board = LoaderBoard(tmp_path, line)
    with strip(board) as power:
        bench = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL]
            ),
        )
        apply = [sys.executable, str(Path(__file__).with_name("apply_to_loader.py"))]
        names, (made,) = bisect(tmp_path, plan, bench, [*apply, str(board.boot)])
    assert sorted(names) == ["etc/beyond:1", "etc/count:1", "skew_tick", "stubborn"]
    assert made.value is not None, made
    assert made.planned == ["0-3"]
    assert {names[int(key)] for key in made.in_force} == {"etc/count:1", "skew_tick"}
