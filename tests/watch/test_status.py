"""`whylate board status`: what is known of all boards without asking one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from terminals import Terminal
from watched_runs import finished

import starts
from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.notes import note_image, note_power, noted_run
from whylate.boards.ready import held
from whylate.boards.state import BoardLock, state_directory
from whylate.watch.boards import MOST_BOARDS


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No virtual board has an image, and no bench is named."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "lab"))
    for name in ("LG_ENV", "LG_COORDINATOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "run"


def whylate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", "board", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def rows(*arguments: str) -> dict[str, dict[str, Any]]:
    done = whylate("status", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["boards"]}


def test_a_machine_without_boards_has_itself() -> None:
    [row] = rows().values()
    assert (row["name"], row["power"], row["owner"], row["last"]) == ("local", "on", None, None)


def test_boards_that_are_left_out_are_counted() -> None:
    for number in range(MOST_BOARDS + 6):
        directory = state_directory(f"board-{number}")
        (directory / "board.json").write_bytes(msgspec.json.encode({"board": directory.name}))
    done = whylate("status", "--json")
    shown = json.loads(done.stdout)
    assert (len(shown["boards"]), shown["left_out"]) == (MOST_BOARDS + 1, 6)
    assert "6 more boards that were used here are not shown" in whylate("status").stdout


def test_who_has_a_board_and_its_last_result_are_shown(tmp_path: Path) -> None:
    with held(LocalBoard(), notify_nobody):
        with noted_run("local", tmp_path / "one"):
            finished(tmp_path / "one", [1000] * 100)
        row = rows()["local"]
        assert f"process {os.getpid()} of " in row["owner"]
        assert row["last"]["result"] == "complete"
        assert row["last"]["recording"] == str(tmp_path / "one")
        assert row["seen"].startswith("20")
    assert rows()["local"]["owner"] is None
    table = whylate("status").stdout
    assert "complete" in table
    assert "nobody" in table
    (tmp_path / "one" / "manifest.json").unlink()
    assert "is not there any more" in rows()["local"]["last"]["result"]


HOLDS = """\
from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.ready import held

with held(LocalBoard(), notify_nobody):
    print("held", flush=True)
    input()
"""


def test_a_long_command_is_whole_in_json_and_cut_in_the_table(tmp_path: Path) -> None:
    program = tmp_path / "holds.py"
    program.write_text(HOLDS)
    words = [sys.executable, str(program), "measure", *["--load", "memory"] * 30]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        owner = rows()["local"]["owner"]
        table = whylate("status").stdout
        process.communicate(b"\n", timeout=30)
    assert owner.count("memory") == 30
    assert "process" in table
    assert table.count("memory") <= 3


def test_a_bench_is_shown_with_what_whylate_did_last(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    from whylate.boards.labgrid.environment import state_name
    from whylate.boards.labgrid.open import labgrid_board

    bench = tmp_path / "bench.yaml"
    target = "{resources: [{NetworkService: {address: 127.0.0.1, username: root}}]}"
    bench.write_text(f"targets:\n  board7: {target}\n  board8: {target}\n")
    row = rows("--env", str(bench))["board7"]
    assert (row["power"], row["image"], row["seen"]) == ("unknown", "", "")
    note_power(state_name(bench, "board7"), on=True)
    note_image(labgrid_board("board7", bench), Path("/images/vendor \x1b[2J.img.xz"))
    with BoardLock(state_directory(state_name(bench, "board8")), "board8"):
        seen = rows("--env", str(bench))
    assert seen["board7"]["power"] == "on"
    assert seen["board7"]["power_note"].startswith("switched at 20")
    assert seen["board7"]["image"] == "vendor \\x1b[2J.img.xz"
    assert seen["board7"]["owner"] is None
    assert f"process {os.getpid()} of user" in seen["board8"]["owner"]
    assert seen["board8"]["power"] == "unknown"


def test_a_bench_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    bench = tmp_path / "bench.yaml"
    bench.write_text("targets: 7\n")
    done = whylate("status", "--env", str(bench))
    assert done.returncode == 3
    assert "is not a labgrid environment" in done.stderr
    assert "local" in done.stdout


def test_a_table_that_is_followed_ends_with_the_problems(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    (tmp_path / "bench.yaml").write_text("targets: 7\n")
    terminal = Terminal("board", "status", "--watch", "--env", str(tmp_path / "bench.yaml"))
    terminal.read_until("q leaves")
    terminal.type(b"q")
    assert terminal.status() == 3
    assert terminal.text().rstrip().endswith("it has no targets")


def test_a_target_with_the_name_of_another_board_is_no_other_board(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    from whylate.boards.labgrid.environment import state_name

    bench, other = tmp_path / "bench.yaml", tmp_path / "other.yaml"
    target = "{resources: [{NetworkService: {address: 127.0.0.1, username: root}}]}"
    for path in (bench, other):
        path.write_text(f"targets:\n  pc: {target}\n  board7: {target}\n")
    note_power(state_name(bench, "pc"), on=True)
    assert rows("--env", str(bench))["pc"]["power"] == "on"
    assert rows("--env", str(other))["pc"]["power"] == "unknown"
    # The one that was used is not the one that is named.
    used = state_directory(state_name(other, "board7"))
    (used / "board.json").write_bytes(msgspec.json.encode({"board": "board7"}))
    note_power(used.name, on=True)
    for path, power in ((other, "on"), (bench, "unknown")):
        done = whylate("watch", "--json", "board7", "--env", str(path))
        assert json.loads(done.stdout)["boards"][0]["power"] == power


@pytest.mark.parametrize(
    "arguments", [["--port", "0"], ["--web", "--json"], ["--web", "--once"]], ids=" ".join
)
def test_options_of_watch_that_do_not_go_together(arguments: list[str]) -> None:
    done = whylate("watch", *arguments)
    assert done.returncode == 2
    assert "--web" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["board7", "--all"]])
def test_off_needs_boards_or_all_of_them(arguments: list[str]) -> None:
    done = whylate("off", *arguments)
    assert done.returncode == 2
    assert "name the boards, or use --all" in done.stderr
