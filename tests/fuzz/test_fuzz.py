"""The short form of each fuzzer; `make fuzz` is the long one."""

from __future__ import annotations

import random
import time
from pathlib import Path

import fuzz_case
import fuzz_frames
import fuzz_imports
import fuzz_plans
import fuzz_probe
import fuzz_recordings
import fuzz_sides
import fuzz_switches
import fuzz_traces
import pytest
import seeds

from whylate.recording.imported.model import InputError, summary_run
from whylate.recording.imported.numbers import Table

SECONDS = 3.0


def check(result: fuzz_case.Result, least: int) -> None:
    assert not result.finds, "\n".join(find.text for find in result.finds.values())
    assert result.units >= least


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_a_board_sends_is_counted(seed: int) -> None:
    check(fuzz_frames.run(seed, SECONDS), fuzz_frames.FRAMES)


def test_a_damaged_recording_is_read_or_refused() -> None:
    check(fuzz_recordings.run(1, SECONDS), 1)


def test_a_damaged_file_of_another_tool_is_read_or_refused() -> None:
    check(fuzz_imports.run(1, SECONDS), 1)


def test_a_damaged_trace_is_explained_or_refused() -> None:
    check(fuzz_traces.run(1, SECONDS), 1)


def test_a_damaged_trace_of_switches_is_simulated_or_refused() -> None:
    check(fuzz_switches.run(1, SECONDS), 1)


def test_a_case_is_made_again_by_its_seed(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        case = fuzz_imports.ImportsCase(tmp_path)
        fuzz_case.fuzz("imports", case, 3, 0, Path.touch, only=41)
        made.append(case.data)
    assert made[0] == made[1]


def test_pieces_of_a_large_file_are_small_and_json_is_not_cut() -> None:
    lines = b"# tracer: nop\n" + b"".join(b"line %d\n" % number for number in range(3000))
    pieces = seeds.pieces_of(lines)
    assert len(pieces) == seeds.PIECES
    assert all(piece.startswith(b"# tracer") and len(piece) < 600 for piece in pieces)
    document = b"{" + b" " * (seeds.WHOLE - 2) + b"}"
    assert seeds.pieces_of(document) == [document]


def test_figures_that_a_file_cannot_hold_are_found() -> None:
    with pytest.raises(AssertionError):
        fuzz_imports.check_table(Table(Path("x"), "", (1.0, 2.0)), 1)
    with pytest.raises(AssertionError):
        fuzz_imports.check_run(summary_run("x", 1.0, 2.0, activations=10**15 + 1), 100)
    with pytest.raises(AssertionError, match="3 lines"):
        fuzz_case.check_line(InputError("one\ntwo\nthree"))


def test_whatever_a_user_writes_is_a_plan_or_one_line() -> None:
    check(fuzz_plans.run(1, SECONDS), 1)


def test_a_damaged_side_is_compared_or_refused() -> None:
    check(fuzz_sides.run(1, SECONDS), 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    if not fuzz_probe.can_build(folder):
        pytest.skip("needs a C compiler with its address and undefined-behaviour sanitizers")
    return folder


def test_sessions_with_values_at_the_bounds_neither_crash_the_probe_nor_keep_it(
    folder: Path,
) -> None:
    check(fuzz_probe.run_sessions(1, SECONDS), 1)
    assert folder.exists()


def test_a_fuzzer_keeps_what_it_found_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_case, "KEPT", tmp_path)

    def case(chance: random.Random) -> int:
        return 1 // chance.randrange(3)

    result = fuzz_case.fuzz("x", case, 1, 0.2, lambda path: path.write_bytes(b"input"))
    (place,) = result.finds
    assert place.startswith("ZeroDivisionError test_fuzz.py:")
    assert result.cases > 10
    assert {path.suffix for path in tmp_path.iterdir()} == {"", ".txt"}


def test_a_case_that_takes_too_long_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_case, "KEPT", tmp_path)
    monkeypatch.setattr(fuzz_case, "CASE_S", 0.05)

    def case(_: random.Random) -> int:
        until = time.process_time() + 2
        while time.process_time() < until:
            pass
        return 1

    result = fuzz_case.fuzz("slow", case, 1, 0.1, lambda path: path.write_bytes(b""))
    assert [place.split()[0] for place in result.finds] == ["TooSlowError"]
