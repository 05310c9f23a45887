"""Windows that were recorded on real and virtual boards are cut as they were when looked at."""

from __future__ import annotations

from itertools import pairwise

import pytest
from golden_windows import FOLDER, told

from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window
from whylate.recording.recorder.windows import read_windows

NAMES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_recorded_windows_are_cut_as_before(name: str) -> None:
    windows = read_windows(FOLDER / name)
    assert told(windows) == (FOLDER / name / "pieces.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_their_pieces_are_in_order_and_sum_to_the_latency(name: str) -> None:
    found = set()
    for window in read_windows(FOLDER / name):
        pieces = cut_window(window)
        assert pieces[0].start_ns == window.due_ns
        assert pieces[-1].end_ns == window.run_ns
        assert all(a.end_ns == b.start_ns for a, b in pairwise(pieces))
        found |= {piece.cause for piece in pieces}
    assert Cause.INTERRUPT in found


def test_both_engines_and_both_architectures_are_among_them() -> None:
    assert {"guest-bpf", "pc-bpf", "virt-arm64-tracefs"} <= set(NAMES)
