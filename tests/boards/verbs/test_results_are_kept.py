"""What a command came for is printed, also where the board could not be left in good order."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from whylate.boards.board import Finished
from whylate.boards.errors import BoardError
from whylate.cli.board import facts as facts_verb
from whylate.cli.board.run import run
from whylate.recording.manifest import Fact


class Sticking:
    """A board whose relay sticks when it is left."""

    name = "board7"
    console = None

    def hold(self, notify: object) -> None: ...

    def boot(self, notify: object) -> None: ...

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        del argv, data, timeout_s
        return Finished(0, b"the answer\n", b"a warning\n")

    def close(self) -> None:
        raise BoardError("board7 is still on: the relay sticks")


@pytest.fixture(autouse=True)
def _board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.boards.open.open_board", lambda *_: Sticking())


def test_a_commands_output_is_passed_on() -> None:
    done = CliRunner().invoke(run, ["board7", "--", "true"])
    assert isinstance(done.exception, BoardError)
    assert done.stdout == "the answer\n"
    assert "a warning\n" in done.stderr


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_facts_are_printed(monkeypatch: pytest.MonkeyPatch, form: list[str]) -> None:
    monkeypatch.setattr("whylate.run.read.read_board", lambda *_: ())
    facts = [Fact("kernel", "6.1.0", "/proc/version")]
    monkeypatch.setattr("whylate.boards.facts.facts", lambda *_: facts)
    done = CliRunner().invoke(facts_verb.command, ["board7", *form])
    assert isinstance(done.exception, BoardError)
    if form:
        assert json.loads(done.stdout)["facts"][0]["value"] == "6.1.0"
    else:
        assert "6.1.0" in done.stdout
