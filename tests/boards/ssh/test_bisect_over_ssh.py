"""A bisection of a board that is reached over SSH, and whose connection is cut now and then."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ssh_servers import Server
from two_variants import bisect, plan_of
from whylate.boards.board import Board, Notify, StartedProbe
from whylate.boards.ssh import SshBoard

pytestmark = pytest.mark.machine

pytest_plugins = ["ssh_fixtures"]
#: Attempts after which the bisection is ended, by the user.
ENOUGH = 7


def test_a_connection_that_is_cut_costs_an_attempt_and_no_run(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
    plan = plan_of(tmp_path, [server.url()], [3])
    opened = cuts = 0

    class CutBoard(SshBoard):
        def start_probe(self, notify: Notify) -> StartedProbe:
            """Start the probe, and cut its connection in every third attempt."""
            nonlocal cuts
            started = super().start_probe(notify)
            if opened % 3 == 0:
                os.kill(server.sessions()[-1], signal.SIGKILL)
                cuts += 1
            return started

    def open_for(name: str, _: tuple[str, ...]) -> Board:
        nonlocal opened
        opened += 1
        return CutBoard(name)

    _, runs = bisect(tmp_path / "b", plan, open_for, lambda: opened > ENOUGH)
    assert cuts == 2
    assert [made.number for made in runs] == list(range(1, opened - cuts))
    assert {made.base for made in runs} == {"first", "second"}
    assert all(made.value is not None for made in runs)
    assert not server.running()
