"""What there is to be seen of boards on a machine without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import starts
from whylate.lab.description import names


def whylate(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LG_")}
    return starts.run(
        [sys.executable, "-m", "whylate", "board", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
        env={**clean, **(env or {})},
    )


def test_virtual_boards_are_listed_without_an_image(tmp_path: Path) -> None:
    done = whylate("list", "--json", env={"WHYLATE_LAB": str(tmp_path)})
    rows = {row["name"]: row for row in json.loads(done.stdout)["boards"]}
    assert set(rows) == {"local", *names()}
    assert rows["local"]["state"] == "on"
    assert rows["local"]["kernel"] == os.uname().release
    for name in names():
        assert rows[name]["kind"] == "virtual"
        assert rows[name]["kernel"] == "no image"
        assert rows[name]["note"] == f"whylate lab build {name}"


def test_labgrid_is_not_imported_where_no_bench_is_named(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from whylate.cli.board.list_boards import command\n"
        "command([], standalone_mode=False)\n"
        "assert 'labgrid' not in sys.modules\n"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith("LG_")}
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=60,
        stdout=subprocess.DEVNULL,
        env={**env, "WHYLATE_LAB": str(tmp_path)},
    )


def test_targets_of_a_bench_are_listed_with_what_they_have(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    bench = tmp_path / "bench.yaml"
    bench.write_text(
        "targets:\n"
        "  board7:\n"
        "    resources:\n"
        "    - NetworkPowerPort: {model: rest, host: 'http://127.0.0.1:1/{index}', index: 1}\n"
        "    - NetworkService: {address: 127.0.0.1, username: root}\n"
        "    drivers:\n"
        "    - NetworkPowerDriver: {}\n"
    )
    lab = {"WHYLATE_LAB": str(tmp_path)}
    for done in (
        whylate("list", "--json", "--env", str(bench), env=lab),
        whylate("list", "--json", env={**lab, "LG_ENV": str(bench)}),
    ):
        assert done.returncode == 0, done.stderr
        row = json.loads(done.stdout)["boards"][-1]
        assert (row["name"], row["kind"], row["state"]) == ("board7", "labgrid target", "unknown")
        assert row["note"] == "power, ssh"


def test_a_bench_that_cannot_be_read_does_not_hide_the_other_boards(tmp_path: Path) -> None:
    pytest.importorskip("labgrid")
    bench = tmp_path / "bench.yaml"
    bench.write_text("targets: 7\n")
    done = whylate("list", "--env", str(bench), env={"WHYLATE_LAB": str(tmp_path)})
    assert done.returncode == 3
    assert "is not a labgrid environment" in done.stderr
    assert "virt-arm64" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["soak", "virt-arm64"], 2, "state the length"),
        (["soak"], 2, "name a board"),
        (["soak", "--show", "/nowhere"], 2, "is not a soak of whylate"),
        (["soak", "virt-arm64", "--show", "/nowhere"], 2, "not with a board"),
        (["soak", "virt-arm64", "--cycles", "0"], 2, "not in the range"),
        (["console", "virt-arm64"], 2, "the input is no terminal"),
        (["console", "local", "--for", "1s"], 3, "has no serial console"),
        (["run", "local"], 2, "Missing argument"),
        (["off", "local"], 3, "no supply that can be switched"),
        (["flash", "/bin/true", "virt-arm64"], 3, "has no SD mux"),
        (["flash", "/no/image", "virt-arm64"], 2, "does not exist"),
        (["selftest", "board9"], 3, "board 'board9'"),
    ],
)
def test_wrong_use_is_answered_by_one_line(
    arguments: list[str], status: int, message: str, tmp_path: Path
) -> None:
    done = whylate(*arguments, env={"WHYLATE_RUN": str(tmp_path)})
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_facts_of_a_board_are_those_of_whylate_facts() -> None:
    done = whylate("facts", "local", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["board"] == "local"


def test_this_machine_runs_commands_and_passes_its_tests() -> None:
    done = whylate("run", "local", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert done.stderr.splitlines()[-1] == "err"
    tried = json.loads(whylate("selftest", "local", "--json").stdout)["tried"]
    states = {driver["name"]: driver["state"] for driver in tried}
    assert (states["power"], states["console"], states["probe"]) == ("not there", "not there", "ok")
