"""A whole board on the bench: QEMU with Debian's kernel behind a power strip and a serial line."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from bench_boards import put_probe
from bench_requests import Watcher, request

from simulated_bench import simulated_bench
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.lab.image import is_fetched
from whylate.lab.network import SERVICES
from whylate.lab.qemu import find_qemu
from whylate.run.measure import measure

BOARD = virtual_board("virt-arm64-rt")
QEMU = find_qemu(BOARD)

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(QEMU is None, reason=f"needs {BOARD.description.qemu}"),
    pytest.mark.skipif(
        not is_fetched(BOARD), reason=f"needs the image of {BOARD.name}: whylate lab build"
    ),
]


def test_a_board_is_booted_measured_and_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    shown: list[str] = []
    # The probe is there already; a file that is put shows that the console takes one.
    files = [(SERVICES, put_probe(BOARD).encode(), 0o644)]
    with simulated_bench(tmp_path, BOARD.name, ["board7"], ssh=False, files=files) as bench:
        (plug,) = bench.plugs
        options = BenchOptions(boot_s=90.0, silence_s=20.0)
        with ready(
            labgrid_board("board7", bench.environment, options=options), shown.append
        ) as board:
            assert board.run(["uname", "-m"]).output == b"aarch64\n"
            assert board.console is not None
            assert b"Linux version 6." in board.console.log.read_bytes()

            data = random.Random(7).randbytes(20_000)
            board.put(data, "/run/data")
            digest = board.run(["sha256sum", "/run/data"]).output
            assert digest.split()[0].decode() == hashlib.sha256(data).hexdigest()

            whole = measure(board, request(2), tmp_path / "whole", Watcher())
            assert whole.state == "complete"
            assert not [problem for problem in whole.problems if problem.fatal]
            assert next(fact for fact in whole.facts if fact.name == "machine").value

            # Its supply is pulled in the middle of the next one.
            watcher = Watcher(plug.power_off)
            cut = measure(board, request(120), tmp_path / "cut", watcher)
            watcher.join()
            assert cut.state == "cut"
            assert [problem.fatal for problem in cut.problems] == [True]
            assert sum(cpu.seen for cpu in cut.cpus) > 200
        assert not plug.running
        assert not bench.power.outlets[1].state
