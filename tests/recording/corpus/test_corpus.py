"""What other people published is read with the figures that a second reader finds in it."""

from __future__ import annotations

import io
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import NUMBERS, RUNS, auto_analysis, executions

from whylate.causes.traces.auto_analyses import cut_analysis
from whylate.causes.traces.latency_traces import cut_latency_trace
from whylate.causes.window.piece import Cause
from whylate.recording.activation import Activation
from whylate.recording.errors import RecordingError
from whylate.recording.imported.executions.model import Executions
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import read_table
from whylate.recording.imported.read import read_runs
from whylate.recording.imported.write import read_importable
from whylate.recording.traces.read import read_trace
from whylate.stats.executions.classes import CLASSES
from whylate.summary.executions import count_executions

HERE = Path(__file__).parent
FILES: list[dict[str, Any]] = tomllib.loads((HERE / "SOURCES.toml").read_text())["file"]


def of_kind(*kinds: str) -> list[Any]:
    chosen = [entry for entry in FILES if entry["kind"] in kinds]
    assert chosen
    return [pytest.param(entry, id=Path(entry["file"]).stem) for entry in chosen]


def text_of(entry: dict[str, Any]) -> str:
    """Return the text of a file without quote marks."""
    text = (HERE / entry["file"]).read_text()
    return re.sub(r"^(?:[ \t]*>[ \t]?)+", "", text, flags=re.MULTILINE)


def test_every_file_has_its_origin_and_its_licence() -> None:
    listed = {entry["file"] for entry in FILES}
    there = {f"files/{path.name}" for path in (HERE / "files").iterdir()}
    assert there == {name for name in listed if name.startswith("files/")}
    assert all(entry["origin"] and entry["licence"] for entry in FILES)
    assert len(listed) == len(FILES)
    assert sum(1 for entry in FILES if not entry.get("synthetic")) >= 79
    assert all((HERE / name).stat().st_size < 8 << 10 for name in listed)


@pytest.mark.parametrize("entry", of_kind(*RUNS))
def test_runs_have_the_figures_that_a_second_reader_finds(entry: dict[str, Any]) -> None:
    found = read_runs(HERE / entry["file"])
    expected = RUNS[entry["kind"]](text_of(entry))
    assert len(found) == len(expected) == entry["runs"]
    for run, figures in zip(found, expected, strict=True):
        assert run.n == figures.n
        assert run.max_ns == pytest.approx(figures.largest_ns)
        if figures.mean_ns is not None:
            assert run.average_ns == pytest.approx(figures.mean_ns)
        assert run.lacks


@pytest.mark.parametrize("entry", of_kind(*NUMBERS))
def test_numbers_are_those_that_a_second_reader_finds(entry: dict[str, Any]) -> None:
    expected = NUMBERS[entry["kind"]](text_of(entry))
    assert expected
    for name, values in expected.items():
        assert list(read_table(HERE / entry["file"], name).values) == values


@pytest.mark.parametrize("entry", of_kind("executions"))
def test_executions_are_those_that_a_second_reader_finds(entry: dict[str, Any]) -> None:
    check_executions(HERE / entry["file"], entry)


def check_executions(file: Path, entry: dict[str, Any]) -> None:
    """Assert that a file has the executions of an entry, by both readers."""
    (read,) = read_importable(file)
    assert isinstance(read.data, Executions)
    counted = count_executions(read.data, "f")
    assert counted.n == entry["executions"]
    expected = executions(text_of(entry))
    assert len(expected) >= 3
    for name, values in expected.items():
        assert counted.values[name].tolist() == values
    classes = [] if counted.classes is None else [CLASSES[n].value for n in counted.classes]
    assert classes == entry["classes"]


def blanks_that_do_not_break(text: str) -> str:
    return text.replace("  ", " \u00a0")


#: What editors, mail programs and browsers do to a text.
CHANGES: dict[str, Callable[[str], str]] = {
    "byte-order-mark": lambda text: "\ufeff" + text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "blanks": blanks_that_do_not_break,
    "trailing": lambda text: text.replace("\n", " \n"),
    "quoted": lambda text: "".join(f"> {line}" for line in text.splitlines(keepends=True)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("entry", of_kind(*RUNS, *NUMBERS))
def test_pasting_and_saving_change_no_figure(
    entry: dict[str, Any], change: Callable[[str], str], tmp_path: Path
) -> None:
    file = tmp_path / "f"
    file.write_bytes(change((HERE / entry["file"]).read_text()).encode())
    if entry["kind"] in NUMBERS:
        for name, values in NUMBERS[entry["kind"]](text_of(entry)).items():
            assert list(read_table(file, name).values) == values
        return
    for run, before in zip(read_runs(file), read_runs(HERE / entry["file"]), strict=True):
        assert (run.n, run.max_ns, run.average_ns) == (before.n, before.max_ns, before.average_ns)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("entry", of_kind("executions"))
def test_pasting_and_saving_change_no_execution(
    entry: dict[str, Any], change: Callable[[str], str], tmp_path: Path
) -> None:
    file = tmp_path / "f"
    file.write_bytes(change((HERE / entry["file"]).read_text()).encode())
    check_executions(file, entry)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("entry", of_kind("latency_trace", "timerlat_trace", "auto_analysis"))
def test_pasting_and_saving_change_no_trace(
    entry: dict[str, Any], change: Callable[[str], str]
) -> None:
    found: list[Activation] = []
    before: list[Activation] = []
    data = change((HERE / entry["file"]).read_text()).encode()
    changed = read_trace(io.BytesIO(data), "t", None, lambda one, _: found.append(one))
    original = read(entry, before)
    assert found == before
    assert changed.latency == original.latency
    assert changed.analyses == original.analyses


@pytest.mark.parametrize("entry", of_kind("refused"))
def test_what_is_not_read_is_refused_with_the_reason(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=re.escape(entry["says"])):
        read_importable(HERE / entry["file"])


def read(entry: dict[str, Any], found: list[Activation]) -> Any:
    data = (HERE / entry["file"]).read_bytes()
    return read_trace(io.BytesIO(data), "t", None, lambda activation, _: found.append(activation))


@pytest.mark.parametrize("entry", of_kind("latency_trace"))
def test_a_latency_trace_has_its_latency_its_place_and_its_gaps(entry: dict[str, Any]) -> None:
    (trace,) = read(entry, []).latency
    stated = re.search(r"latency: (\d+) us, #(\d+)/", text_of(entry))
    assert stated is not None
    assert trace.latency_ns == 1000 * int(stated[1])
    assert trace.entries == int(stated[2])
    pieces = cut_latency_trace(trace)
    assert sum(piece.length_ns for piece in pieces) == trace.latency_ns
    gaps = [piece for piece in pieces if piece.cause is Cause.NOT_OBSERVED]
    assert bool(gaps) == entry.get("elided", False)
    named = {piece.detail for piece in pieces
             if piece.cause in (Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED)}  # fmt: skip
    assert named <= {entry.get("place")}
    assert not re.search(r"trace_|tracer_|return_to_handler|preempt_count", " ".join(named))


@pytest.mark.parametrize("entry", of_kind("timerlat_trace"))
def test_timerlats_activations_are_those_of_its_threads(entry: dict[str, Any]) -> None:
    found: list[Activation] = []
    read(entry, found)
    stated = re.findall(r"context thread timer_latency +(\d+) ns", text_of(entry))
    assert sorted(one.latency_ns for one in found) == sorted(map(int, stated))


@pytest.mark.parametrize("entry", of_kind("osnoise_trace"))
def test_osnoises_samples_are_as_long_as_it_measured(entry: dict[str, Any]) -> None:
    found: list[Activation] = []
    read(entry, found)
    stated = re.findall(r"sample_threshold: .* duration (\d+) ns", text_of(entry))
    assert [one.latency_ns for one in found] == list(map(int, stated))


@pytest.mark.parametrize("entry", of_kind("auto_analysis"))
def test_an_auto_analysis_has_its_parts_by_whylates_names(entry: dict[str, Any]) -> None:
    (analysis,) = read(entry, []).analyses
    (us,) = auto_analysis(text_of(entry))
    assert analysis.latency_ns == round(1000 * us["all"])
    pieces = cut_analysis(analysis)
    assert sum(piece.length_ns for piece in pieces) == analysis.latency_ns
    spent: Counter[str] = Counter()
    for piece in pieces:
        spent[piece.cause] += piece.length_ns
    held_off, blocking = entry["delay"], entry.get("blocking", "")
    if analysis.by_irq:
        assert spent == {held_off: analysis.latency_ns}
        return
    expected: Counter[str] = Counter({held_off: round(1000 * us["delay"])})
    expected[blocking] += round(1000 * us["blocking"])
    for cause in ("interrupt", "not observed"):
        expected[cause] += round(1000 * us[cause])
    assert spent == expected
    assert {piece.detail for piece in pieces if piece.cause == held_off} >= {entry["place"]}


@pytest.mark.parametrize("entry", of_kind("refused_trace"))
def test_a_trace_that_is_not_read_is_refused_with_the_reason(entry: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match=re.escape(entry["says"])):
        read(entry, [])


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(FILES), st.integers(0, 2**32 - 1))
def test_whatever_becomes_of_a_file_it_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, entry: dict[str, Any], seed: int
) -> None:
    damaged = damage((HERE / entry["file"]).read_bytes(), random.Random(seed))
    file = tmp_path_factory.mktemp("damaged") / "x"
    file.write_bytes(damaged)
    try:
        read_importable(file)
    except RecordingError as error:
        assert "\n" not in str(error)  # noqa: PT017 (it may also be read)
    with suppress(RecordingError):
        found = read_trace(io.BytesIO(damaged), "t", None, lambda *_: None)
        for trace in found.latency:
            pieces = cut_latency_trace(trace)
            assert sum(piece.length_ns for piece in pieces) == trace.latency_ns
        for analysis in found.analyses:
            pieces = cut_analysis(analysis)
            assert sum(piece.length_ns for piece in pieces) == analysis.latency_ns


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return a file with some of its bytes and lines changed, doubled or left out."""
    lines = data.splitlines(keepends=True)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(lines))
        match rng.randrange(5):
            case 0:
                lines.insert(at, lines[rng.randrange(len(lines))])
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
            case 3:
                digits = rng.choice([b"9" * 30, b"-1", b"0", b"nan", b"1e999", b"", b"0.0"])
                lines[at] = re.sub(rb"\d+", digits, lines[at], count=rng.randint(1, 3))
            case _:
                cut = rng.randint(0, len(lines[at]))
                lines[at] = lines[at][:cut] + rng.randbytes(3) + lines[at][cut:]
    return b"".join(lines)
