"""Knobs of one's own: set by a command, read back, and put back whatever becomes of the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

import starts
from whylate.boards.board import Finished
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard
from whylate.run.errors import RequestError
from whylate.run.knobs.commands import (
    CommandKnob,
    CommandSetting,
    KnobError,
    check_knob,
    read_knob,
    write_knob,
)
from whylate.study.model import FinishedRun
from whylate.study.restore.undo import NotPutBackError, Undo, read_notes

pytestmark = pytest.mark.machine


def knob(file: Path, write: str = 'printf "%s" "$1" >"$2"') -> CommandKnob:
    """Return a knob that is a file; write: a script that is given the value and the file."""
    return CommandKnob(f"cat '{file}'", f"sh -c '{write}' sh {{value}} '{file}'")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    result = tmp_path / "a knob"
    result.write_text("old")
    return result


def test_a_knob_is_set_while_the_run_goes_and_put_back_after_it(tmp_path: Path, file: Path) -> None:
    undo = Undo(tmp_path)
    with undo.around("local", [CommandSetting("k", knob(file), "new")], LocalBoard()):
        assert file.read_text() == "new"
        (note,) = read_notes(tmp_path, ["local"])
        assert [(item.name, item.value) for item in note.old] == [("k", "old")]
    assert file.read_text() == "old"
    assert not read_notes(tmp_path, ["local"])


def test_a_value_is_data_whatever_stands_in_it(tmp_path: Path, file: Path) -> None:
    value = "$(touch x); echo 'a\" {value} \\ *"
    with Undo(tmp_path).around("local", [CommandSetting("k", knob(file), value)], LocalBoard()):
        assert file.read_text() == value
    file.write_text(value)
    with Undo(tmp_path).around("local", [CommandSetting("k", knob(file), "new")], LocalBoard()):
        pass
    assert file.read_text() == value


def test_what_goes_wrong_meanwhile_is_told_and_the_knob_is_put_back(
    tmp_path: Path, file: Path
) -> None:
    undo = Undo(tmp_path)
    with (
        pytest.raises(ZeroDivisionError),
        undo.around("local", [CommandSetting("k", knob(file), "new")], LocalBoard()),
    ):
        raise ZeroDivisionError
    assert file.read_text() == "old"


@pytest.mark.parametrize(
    ("write", "message"),
    [
        ("printf half >$2", "'new' was written, and 'half' is read back"),
        ("printf new >$2; echo no such thing >&2; exit 3", "status 3 (no such thing)"),
    ],
)
def test_a_knob_that_does_not_take_fails_the_run_and_all_are_put_back(
    tmp_path: Path, file: Path, write: str, message: str
) -> None:
    other = tmp_path / "other"
    other.write_text("1")
    # It takes its old value alone.
    script = f'if [ "$1" = old ]; then printf old >$2; else {write}; fi'.replace("$2", '"$2"')
    settings = [
        CommandSetting("o", knob(other), "2"),
        CommandSetting("k", knob(file, script), "new"),
    ]
    with (
        pytest.raises(KnobError) as error,
        Undo(tmp_path).around("local", settings, LocalBoard()),
    ):
        pytest.fail("it was measured")
    assert str(error.value).startswith("knob command:k: ")
    assert message in str(error.value)
    assert (other.read_text(), file.read_text()) == ("1", "old")
    assert not read_notes(tmp_path, ["local"])


def test_a_knob_that_cannot_be_put_back_is_noted_until_it_can(tmp_path: Path, file: Path) -> None:
    undo = Undo(tmp_path)
    reported: list[str] = []
    stuck = knob(file, '[ ! -e "$2.stuck" ] && printf "%s" "$1" >"$2"')
    with (
        pytest.raises(NotPutBackError, match="command:k could not be put back to 'old'"),
        undo.around("local", [CommandSetting("k", stuck, "new")], LocalBoard()),
    ):
        Path(f"{file}.stuck").touch()
    assert "could not be put back" in undo.put_back("local", here, reported.append)
    assert not reported
    Path(f"{file}.stuck").unlink()
    assert undo.put_back("local", here, reported.append) == ""
    assert reported == ["local: command:k was put back to 'old'"]
    assert file.read_text() == "old"
    # There is nothing left to do: the board is not even opened.
    assert undo.put_back("local", gone, reported.append) == ""


def test_a_knob_that_something_else_sets_meanwhile_fails_the_run_and_is_put_back(
    tmp_path: Path, file: Path
) -> None:
    with (
        pytest.raises(KnobError) as error,
        Undo(tmp_path).around("local", [CommandSetting("k", knob(file), "new")], LocalBoard()),
    ):
        file.write_text("theirs")
    assert "command:k was set to 'new', and 'theirs' is read after the run" in str(error.value)
    assert file.read_text() == "old"
    assert not read_notes(tmp_path, ["local"])


def test_one_that_cannot_be_put_back_keeps_none_of_the_others(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in "abcd"}
    for file in files.values():
        file.write_text("old")
    write = '[ ! -e "$2.stuck" ] && printf "%s" "$1" >"$2"'
    settings = [CommandSetting(name, knob(file, write), "new") for name, file in files.items()]
    undo, reported = Undo(tmp_path), list[str]()

    def stuck(*names: str) -> None:
        for name in names:
            Path(f"{files[name]}.stuck").touch()

    with (
        pytest.raises(NotPutBackError) as error,
        undo.around("local", settings, LocalBoard()),
    ):
        stuck("b", "d")
    assert "command:d could not be put back to 'old'" in str(error.value)
    assert "command:b could not be put back to 'old'" in str(error.value)
    assert [file.read_text() for file in files.values()] == ["old", "new", "old", "new"]
    (note,) = read_notes(tmp_path, ["local"])
    assert [item.name for item in note.old] == ["b", "d"]
    Path(f"{files['d']}.stuck").unlink()
    assert "command:b could not be put back" in undo.put_back("local", here, reported.append)
    assert reported == ["local: command:d was put back to 'old'"]
    # Of a board that is gone nothing is: what is left stays noted.
    (tmp_path / "undo/gone.json").write_bytes((tmp_path / "undo/local.json").read_bytes())
    assert "b could not be put back" in undo.put_back(
        "gone", lambda _: Answering(None), reported.append
    )
    assert [[item.name for item in note.old] for note in read_notes(tmp_path, ["gone"])] == [["b"]]


def here(name: str) -> LocalBoard:
    assert name == "local"
    return LocalBoard()


def gone(name: str) -> LocalBoard:
    raise BoardError(f"{name} is gone")


class Answering(LocalBoard):
    """A board whose commands all print the same; None: it is gone."""

    def __init__(self, output: bytes | None) -> None:
        self.output = output

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        del argv, data, timeout_s
        if self.output is None:
            raise BoardError("the connection broke")
        return Finished(0, self.output)


ECHO = CommandKnob("echo", "echo {value}")


@pytest.mark.parametrize(
    ("output", "message"),
    [(b"x" * 1001, "longer than 1000 bytes"), (b"\xff", "UTF-8"), (b"a\0b", "zero byte")],
)
def test_what_a_knob_reads_is_bounded_text(output: bytes, message: str) -> None:
    with pytest.raises(KnobError, match=message):
        read_knob(Answering(output), "k", ECHO)
    assert read_knob(Answering(b" a b\n"), "k", ECHO) == "a b"
    assert read_knob(Answering(b""), "k", ECHO) == ""


def test_a_board_that_is_gone_is_not_the_knob_s_fault_and_a_missing_command_is() -> None:
    with pytest.raises(BoardError, match="the connection broke"):
        write_knob(Answering(None), "k", ECHO, "1")
    with pytest.raises(KnobError, match="knob command:k: no-such-command cannot be run"):
        read_knob(LocalBoard(), "k", CommandKnob("no-such-command", "x {value}"))


@pytest.mark.parametrize(
    ("read", "write", "message"),
    [
        ("cat x", "echo", r"knobs.k.write has no {value}"),
        ("", "echo {value}", "knobs.k.read: write a command"),
        ("cat 'x", "echo {value}", "knobs.k.read: No closing quotation"),
        ("cat x", "echo {value} " + "x " * 64, "knobs.k.write: write a command of at most 64"),
    ],
)
def test_commands_that_cannot_be_a_knob_s_are_one_line(read: str, write: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        check_knob("k", CommandKnob(read, write))
    assert str(error.value).startswith(message)


# -- whole studies


def plan(tmp_path: Path, file: Path, duration: str, write: str = 'printf "%s" "$1" >"$2"') -> Path:
    seen = tmp_path / "seen"
    own = knob(file, write)
    path = tmp_path / "plan.toml"
    path.write_text(
        f"""
runs = 6
warm_up = "none"
for = "{duration}"
interval = "1ms"
recorder = false
loads = {{ noting = ['''cmd:sh -c 'echo $COLOUR >>{seen}; exec sleep 600' '''] }}
[knobs.note]
read = '''{own.read}'''
write = '''{own.write}'''
[variants.base]
[variants.other]
"command:note" = "new"
"env:COLOUR" = "dark red"
"""
    )
    return path


def command(tmp_path: Path, *words: str) -> list[str]:
    whylate = [sys.executable, "-m", "whylate", "study", "run", str(tmp_path / "plan.toml")]
    return [*whylate, "-o", str(tmp_path / "s"), "--json", *words]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return starts.run(command, capture_output=True, text=True, timeout=300, check=False)


def begin(tmp_path: Path, file: Path) -> subprocess.Popen[bytes]:
    """Start a study of long runs; the knob is set, and a run goes on, when this returns."""
    host = subprocess.Popen(command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 180
    seen = tmp_path / "seen"
    while file.read_text() != "new" or not seen.exists() or "dark red" not in seen.read_text():
        assert time.monotonic() < deadline
        assert host.poll() is None
        time.sleep(0.02)
    return host


@pytest.mark.realtime
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_study_that_is_ended_in_mid_run_puts_the_knob_back(
    tmp_path: Path, file: Path, number: signal.Signals
) -> None:
    plan(tmp_path, file, "20s")
    with begin(tmp_path, file) as host:
        host.send_signal(number)
        assert host.wait(60) == 3
        assert host.stderr is not None
        assert b"put back" not in host.stderr.read()
    assert file.read_text() == "old"
    assert not read_notes(tmp_path / "s", ["local"])


@pytest.mark.realtime
def test_the_next_study_puts_back_what_a_killed_one_left(tmp_path: Path, file: Path) -> None:
    plan(tmp_path, file, "20s")
    with begin(tmp_path, file) as host:
        host.kill()
    assert file.read_text() == "new"
    shown = run([sys.executable, "-m", "whylate", "study", "show", str(tmp_path / "s"), "--json"])
    assert json.loads(shown.stdout)["to_put_back"][0]["old"][0]["value"] == "old"
    # Before anything else: recordings that are gone end the study at its first look at them.
    with (tmp_path / "s/runs.jsonl").open("w") as lines:
        for name in ("base", "other"):
            done = FinishedRun("local", "noting", name, 1, "runs/none", "2026-01-01", 1.0)
            lines.write(msgspec.json.encode(done).decode() + "\n")
    again = run(command(tmp_path))
    assert again.returncode == 2
    assert "local: command:note was put back to 'old'" in again.stderr
    assert "runs/none" in again.stderr
    assert file.read_text() == "old"
    assert not read_notes(tmp_path / "s", ["local"])


@pytest.mark.realtime
def test_a_run_s_commands_see_its_variables_and_the_other_side_s_do_not(
    tmp_path: Path, file: Path
) -> None:
    plan(tmp_path, file, "200ms")
    done = run(command(tmp_path))
    assert json.loads(done.stdout)["comparisons"][0]["rounds"] == 6, done.stderr
    assert sorted((tmp_path / "seen").read_text().splitlines()) == [""] * 6 + ["dark red"] * 6
    assert file.read_text() == "old"


@pytest.mark.realtime
def test_a_study_ends_with_a_line_for_a_knob_that_does_not_take(tmp_path: Path, file: Path) -> None:
    plan(tmp_path, file, "200ms", write="true")
    done = run(command(tmp_path))
    assert done.returncode == 2
    assert "variant other on local: knob command:note: 'new' was written" in done.stderr
    assert "'old' is read back" in done.stderr


@pytest.mark.realtime
def test_a_board_whose_knob_cannot_be_put_back_is_given_up_and_its_run_is_kept(
    tmp_path: Path, file: Path
) -> None:
    plan(tmp_path, file, "200ms", write='[ "$1" = new ] && printf new >"$2"')
    done = run(command(tmp_path))
    assert done.returncode == 3
    assert "local was given up: command:note could not be put back to 'old'" in done.stderr
    kept = [json.loads(line) for line in (tmp_path / "s/runs.jsonl").read_text().splitlines()]
    assert [item["failed"] for item in kept if item["variant"] == "other"] == [""]
    assert read_notes(tmp_path / "s", ["local"])
    assert os.path.lexists(tmp_path / "s" / kept[-1]["recording"])
