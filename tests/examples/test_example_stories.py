"""What the examples make of their figures, and that each runs to its finding."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clock_that_does_not_scale
import half_speed_memory
import one_lock
import seventh_process
from story import HERE, Interval

LINES = one_lock.LINES


def output(name: str, *words: str) -> str:
    """Run an example and return what it printed, its lines joined."""
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), *words],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def test_half_the_speed_is_the_zero_pages_and_gone_once_written() -> None:
    text = half_speed_memory.finding(Interval(0.48, 0.45, 0.5), Interval(1.02, 0.97, 1.06), 2.1)
    assert "× 0.48 [0.45, 0.5] of the speed" in text
    assert "the twofold gap is gone" in text
    assert "cannot be told from none" in text
    # What remains is said either way.
    faster = half_speed_memory.finding(Interval(0.48, 0.45, 0.5), Interval(1.2, 1.1, 1.3), 2.1)
    assert "faster with them" in faster
    # A gap of another size is not called what it is not.
    less = half_speed_memory.finding(Interval(0.85, 0.8, 0.9), Interval(1.02, 0.97, 1.06), 2.1)
    assert "that gap, which is smaller here" in less


def test_where_the_zero_pages_do_not_differ_nothing_is_claimed() -> None:
    for untouched in (Interval(1.0, 0.9, 1.1), Interval(0.9, None, None)):
        text = half_speed_memory.finding(untouched, Interval(1.0, 0.9, 1.1), 2.1)
        assert "cannot be told here" in text
        assert "× 2.1 of the speed from a written source" in text


@pytest.mark.parametrize(
    ("flushes", "edge"),
    [
        ({4: 0.0, 6: 0.001, 7: 1.0, 8: 1.0}, (6, 7)),
        ({4: 0.0, 6: 0.0, 7: 0.49, 8: 1.0}, (6, 8)),
        ({4: 0.0, 7: 1.0, 8: 0.3}, None),
        ({4: 0.0, 7: 1.0, 8: 0.0}, None),
        ({7: 1.0, 8: 1.0}, None),
        ({4: 0.0, 6: 0.0}, None),
    ],
)
def test_the_cliff_lies_where_flushes_begin(
    flushes: dict[int, float], edge: tuple[int, int] | None
) -> None:
    assert seventh_process.cliff(flushes) == edge


def test_the_law_is_that_of_half_a_chunk_or_all_but_half_a_period() -> None:
    cost = 0.09
    bulk = {LINES: LINES * cost, 512: LINES * cost * 1.05, 16: LINES * cost * 2}
    delays = {LINES: 5 + LINES * cost - 100, 512: 5 + 512 * cost / 2, 16: 5 + 16 * cost / 2}
    floor, per_line = one_lock.law(delays, bulk)
    assert floor == pytest.approx(5)
    assert per_line == pytest.approx(cost)
    assert floor + one_lock.waits_us(LINES * cost) == pytest.approx(delays[LINES])
    assert one_lock.knee(bulk) == 512


def test_the_published_clocks_follow_from_one_parameter_a_row() -> None:
    small, large = clock_that_does_not_scale.published()
    assert "Z/S = 66.2" in small
    assert "0.9890 predicted, 0.9881 published" in small
    assert "Z/S = 84.6" in large
    # What the model lacks there is said, not hidden.
    assert "0.9926 predicted, 0.9601 published" in large
    assert "each reading took" in large


@pytest.mark.skipif(os.geteuid() != 0, reason="the setting and page frames are root's")
def test_the_image_that_copies_memory_at_half_the_speed(tmp_path: Path) -> None:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists():
        pytest.skip("no transparent huge pages here")
    before = setting.read_text()
    text = output("half_speed_memory", "--quick", "--out", str(tmp_path / "s"))
    # Which of the two it is, is the machine's: its caches.
    assert " is gone, and what remains " in text or "cannot be told here" in text
    assert setting.read_text() == before


@pytest.mark.skipif(
    os.geteuid() != 0 or os.uname().machine != "x86_64", reason="flushes are told to root, on x86"
)
def test_the_seventh_process(tmp_path: Path) -> None:
    text = output("seventh_process", "--quick", "--out", str(tmp_path / "r"))
    assert "With 6 processes 0.0" in text
    assert "buffer, with 7 " in text
    assert "-18.86 % ± 0.15 %" in text
    assert "no verdict" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(
    os.uname().machine not in ("x86_64", "aarch64"), reason="no line can be cleaned"
)
def test_one_lock_sixteen_thousand_lines(tmp_path: Path) -> None:
    text = output("one_lock", "--quick", "--out", str(tmp_path / "s"))
    # Where signals take long, as in a virtual machine, each chunk has a part of one to pay for.
    assert "The knee is at chunks of" in text or "No chunk is cheap enough" in text
    assert "-28.9 %" in text
    assert "the smallest p that so few could come out with is 0.25" in text


@pytest.mark.qemu
def test_the_clock_that_does_not_scale(tmp_path: Path) -> None:
    text = output("clock_that_does_not_scale", "--quick", "--out", str(tmp_path / "s"))
    by_hpet = re.search(r"× ([\d.]+) by hpet", text)
    assert by_hpet is not None
    assert float(by_hpet[1]) > 3
    assert "predicted, not measured" in text
