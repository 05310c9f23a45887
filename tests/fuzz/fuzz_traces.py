"""Traces of other tools: a damaged one is explained, its pieces sum up, or refused in one line."""

from __future__ import annotations

import functools
import json
import random
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import fuzz_case
import seeds
from fuzz_imports import CASE_S
from mutate import mutate

from whylate.causes.as_json import answer_as_json
from whylate.causes.traces.auto_analyses import cut_analysis
from whylate.causes.traces.explain_import import Imported, explain_import
from whylate.causes.traces.latency_traces import cut_latency_trace
from whylate.causes.window.piece import Piece
from whylate.recording.errors import RecordingError
from whylate.recording.imported.model import InputError
from whylate.recording.imported.write import read_importable
from whylate.recording.traces.watch import Watch
from whylate.report.terminal.trace import read_as_json, what_was_read

FOLDERS = ["recording/traces/data"]
#: Files of which some are traces: latency tracers', auto-analyses, parts of mails.
OTHERS = ["recording/corpus/files", "recording/imported"]
TESTS = ["recording/traces"]
#: How often a whole file is taken, of up to 90 KB; and how often the importers get a trace.
WHOLE = 0.002
IMPORTED = 0.02
_PID = re.compile(rb"-(\d{1,7})\s")


@functools.cache
def corpus() -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return pieces of traces, pieces of other files, and whole traces."""
    whole = seeds.files_in(FOLDERS)
    traces = [*whole, *seeds.texts_in_tests(TESTS)]
    others = [*seeds.files_in(OTHERS), *whole]
    return (
        [piece for data in traces for piece in seeds.pieces_of(data)],
        [piece for data in others for piece in seeds.pieces_of(data)],
        whole,
    )


@dataclass
class TracesCase:
    """A trace on disk, and its bytes."""

    path: Path
    files: tuple[list[bytes], list[bytes], list[bytes]] = field(default_factory=corpus)
    data: bytes = b""

    def __call__(self, chance: random.Random) -> int:
        pieces, others, whole = self.files
        where = chance.random()
        data = chance.choice(whole if where < WHOLE else pieces if where < 0.7 else others)
        self.data = data = mutate(chance, data, pieces)
        self.path.write_bytes(data)
        watch = self.watch(chance) if chance.random() < 0.4 else None
        try:
            with self.path.open("rb") as stream:
                explained = explain_import(stream, "file", watch)
        except RecordingError as error:
            fuzz_case.check_line(error)
        else:
            check_explained(explained, len(data))
        if chance.random() < IMPORTED:
            try:
                read_importable(self.path)
            except InputError as error:
                fuzz_case.check_line(error)
        return 1

    def watch(self, chance: random.Random) -> Watch | None:
        """Return a thread of the trace, as --pid names it."""
        found = _PID.findall(self.data[:4000])
        return Watch(frozenset({int(chance.choice(found))})) if found else None


def check_explained(explained: Imported, size: int) -> None:
    """Raise AssertionError for an answer that a trace of so many bytes cannot have."""
    read = explained.read
    for trace in read.latency:
        check_sum(cut_latency_trace(trace), trace.latency_ns)
    for analysis in read.analyses:
        check_sum(cut_analysis(analysis), analysis.latency_ns)
    assert sum(read.seen.events.values()) <= size
    assert sum(count for _, _, count in explained.threads) <= size
    document = answer_as_json(explained.answer, 5)
    document["trace"] = read_as_json(read, explained.threads, explained.list_missing_data)
    # A figure that is no number has no place in JSON.
    json.dumps(document, allow_nan=False)
    assert what_was_read(read)
    # A share may be below zero: the others' then sum up to more.
    shares = [cause["located_share"] for cause in document.get("causes", [])]
    assert not shares or abs(sum(shares) - 1) < 1e-6, shares
    assert len(read.latency) + len(read.analyses) <= size


def check_sum(pieces: list[Piece], latency_ns: int) -> None:
    """Raise AssertionError where the pieces of an episode do not sum to its latency."""
    assert sum(piece.length_ns for piece in pieces) == latency_ns
    assert all(piece.length_ns > 0 for piece in pieces)


def run(seed: int, seconds: float, case: int | None = None) -> fuzz_case.Result:
    """Fuzz the readers of traces for some seconds."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        traces = TracesCase(Path(folder) / "file")
        return fuzz_case.fuzz(
            "traces", traces, seed, seconds, lambda path: path.write_bytes(traces.data),
            case_s=CASE_S, only=case,
        )  # fmt: skip
