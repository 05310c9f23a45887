"""A setting that moves the p99 of a workload is found, however often everything is killed.

Huge pages of shared memory make p99 of the CPU time in which 2 MiB are mapped, touched and unmapped
some fifteen times smaller: a fault instead of 512.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import starts
from c_programs import FLAGS
from settings_here import inert
from whylate.bisect.settings.journal import read_bisection

CULPRIT = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
INERT = 43
KILLS = 5

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may set them"),
]


def in_force(path: Path) -> str:
    """Return a setting's value: where all choices are shown, the one in brackets."""
    text = path.read_text().strip()
    return text.partition("[")[2].partition("]")[0] if "[" in text else text


def values(paths: Mapping[Path, str]) -> dict[Path, str]:
    return {path: in_force(path) for path in paths}


@pytest.fixture
def settings() -> Iterator[dict[Path, tuple[str, str]]]:
    """Return settings with their values in both variants; a test leaves all as they are."""
    known = inert(INERT)
    if len(known) < INERT or not os.access(CULPRIT, os.W_OK):
        pytest.skip("too few settings can be set here")
    chosen = {path: (str(value), str(value + 1)) for path, value in known[:20]}
    chosen[CULPRIT] = ("always", "never")
    chosen |= {path: (str(value + 1), str(value)) for path, value in known[20:]}
    before = {path: in_force(path) for path in chosen}
    yield chosen
    after = values(before)
    for path, value in before.items():
        path.write_text(value)
    assert after == before


def write_plan(directory: Path, settings: Mapping[Path, tuple[str, str]]) -> Path:
    program, plan = directory / "shared_pages", directory / "plan.toml"
    source = Path(__file__).with_name("shared_pages.c")
    subprocess.run(["cc", *FLAGS, "-O2", str(source), "-o", str(program)], check=True)
    lines = ["warm_up = 'none'"]
    for place, variant in enumerate(("ours", "theirs")):
        lines.append(f"[variants.{variant}]")
        lines += [f"'{path}' = '{pair[place]}'" for path, pair in settings.items()]
    lines += ["[cmd]", f"command = ['{program}']", "value = 'p99 (\\d+) ns'", "unit = 'ns'",
              "rounds = 1"]  # fmt: skip
    plan.write_text("\n".join(lines))
    return plan


def wait_until_as_found(before: Mapping[Path, str]) -> None:
    """Wait until the guardian of a killed run has put back what it had set."""
    deadline = time.monotonic() + 30
    while values(before) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert values(before) == before


def test_a_setting_that_moves_p99_is_found_whenever_everything_is_killed(
    tmp_path: Path, settings: dict[Path, tuple[str, str]]
) -> None:
    chance, output = random.Random(7), tmp_path / "b"
    before = {path: in_force(path) for path in settings}
    words = [sys.executable, "-m", "whylate", "bisect", "settings",
             str(write_plan(tmp_path, settings)), "-o", str(output)]  # fmt: skip
    lines, kept = output / "runs.jsonl", b""
    for _ in range(KILLS):
        more = kept.count(b"\n") + chance.randint(1, 6)
        with subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            deadline = time.monotonic() + 120
            while not lines.exists() or lines.read_bytes().count(b"\n") < more:
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 1.0))
            os.killpg(process.pid, signal.SIGKILL)
        wait_until_as_found(before)
        assert lines.read_bytes().startswith(kept)
        # A line that was not whole is no run yet.
        kept = lines.read_bytes()[: lines.read_bytes().rindex(b"\n") + 1]
    done = starts.run([*words, "--json"], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert lines.read_bytes().startswith(kept)
    check(json.loads(done.stdout))
    numbers = [made.number for made in read_bisection(output)[1]]
    assert len(set(numbers)) == len(numbers)


def check(document: dict[str, Any]) -> None:
    assert len(document["settings"]) == INERT + 1
    assert document["answer"] == "culprits", document
    assert [culprit["knob"] for culprit in document["culprits"]] == [str(CULPRIT)]
    for way in ("first_with_second", "second_with_first"):
        assert document["confirmation"][way]["low"] > 0.7
