"""What the kernel's verifier goes through: a board waits for it before each run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from processes import descendants_of, programs_of
from user_sections import COUNTING, NEEDS, compiled

pytestmark = [pytest.mark.machine, *NEEDS, pytest.mark.realtime]

#: Instructions that are gone through for one program, at most; the verifier gives up at a million.
#: A core of 1 GHz takes some 10 us for each.
MOST = 40_000


@pytest.mark.parametrize("verb", ["section", "measure"])
def test_no_program_keeps_the_verifier_for_long(verb: str, tmp_path: Path) -> None:
    words: Sequence[str] = (verb, "--for", "2s", "-o", str(tmp_path / "r"))
    if verb == "section":
        words = (*words, f"{compiled(tmp_path, COUNTING)}:decode_frame")
    command = [sys.executable, "-m", "whylate", *words]
    seen: dict[int, int] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while run.poll() is None:
            for pid in descendants_of(run.pid):
                # It may end meanwhile.
                with suppress(OSError):
                    seen |= programs_of(pid)
            time.sleep(0.02)
    if not any(seen.values()):
        pytest.skip("this kernel does not say what its verifier went through (Linux 5.16)")
    assert len(seen) > 10
    assert max(seen.values()) < MOST, seen
