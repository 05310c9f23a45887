"""Debian packages in the lab's cache: processes that fetch at once, with an apt of this test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: As many as `make test` starts.
PROCESSES = 3
#: Waits until all processes have begun. A download takes a while; its directory may be gone then.
APT = f"""#!/bin/bash
case "$*" in
*update) ;;
*download*|*show*)
    for attempt in {{1..300}}; do
        [ "$(ls "$STARTED" | wc -l)" = {PROCESSES} ] && break
        sleep 0.1
    done
    echo "${{@: -1}}" >> "$FETCHED"
    sleep 0.5 ;;
esac
case "$*" in
*download*) for name in "${{@:$#-1}}"; do echo content > "${{name}}_1_all.deb"; done ;;
*show*) echo "Depends: linux-image-6.1.0-1-arm64, other" ;;
esac
"""
#: The program of each process; arguments: the directory, and a file that shows that it began.
FETCH = """
import pathlib, sys
from whylate.lab.packages import Packages
pathlib.Path(sys.argv[2]).touch()
packages = Packages(pathlib.Path(sys.argv[1]), "arm64")
"""
DEPENDENCY = 'print(packages.dependency("linux-image-arm64", "linux-image-", lambda _: None))'
FETCH_ALL = 'print(*packages.fetch_all(["busybox-static", "u-boot-qemu"], lambda _: None))'


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs in the way of apt's, and return the file of what they fetched, a line each."""
    for name in ("apt-get", "apt-cache", "dpkg-deb"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(APT)
        program.chmod(0o755)
    (tmp_path / "started").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("STARTED", str(tmp_path / "started"))
    monkeypatch.setenv("FETCHED", str(tmp_path / "fetched"))
    return tmp_path / "fetched"


@pytest.mark.parametrize(
    ("act", "kept", "fetched"),
    [
        (FETCH_ALL, ["busybox-static", "u-boot-qemu"], "u-boot-qemu"),
        (DEPENDENCY, ["linux-image-arm64.is"], "linux-image-arm64"),
    ],
    ids=["fetch_all", "dependency"],
)
def test_processes_that_fetch_the_same_packages_at_once_all_get_them(
    tmp_path: Path, apt: Path, act: str, kept: list[str], fetched: str
) -> None:
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                FETCH + act,
                tmp_path / "all",
                tmp_path / "started" / str(number),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    ended = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert [status for _, status in ended] == [0] * PROCESSES, [err for (_, err), _ in ended]
    answers = {out for (out, _), _ in ended}
    assert len(answers) == 1
    debs = tmp_path / "all" / "arm64" / "debs"
    assert sorted(path.name for path in debs.iterdir()) == kept
    for word in answers.pop().split():
        assert word == "linux-image-6.1.0-1-arm64" or Path(word).read_text() == "content\n"
    # Whoever waited fetched nothing again.
    assert apt.read_text().split("\n") == [fetched, ""]
