"""The importers: a file of another tool, damaged, gives runs or one clear line."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import fuzz_case

from whylate.causes.traces.auto_analyses import cut_analysis
from whylate.causes.traces.latency_traces import cut_latency_trace
from whylate.causes.window.piece import Piece
from whylate.recording.errors import RecordingError
from whylate.recording.imported.model import InputError
from whylate.recording.imported.write import read_importable
from whylate.recording.traces.read import read_trace

SAMPLES = Path(__file__).parents[1]
#: Files of other tools that other tests read.
FOLDERS = [
    "recording/imported", "recording/traces", "recording/corpus/files", "compare/published",
]  # fmt: skip
LARGEST = 200_000


def corpus() -> list[bytes]:
    """Return the files, or their beginnings."""
    files = [
        path
        for folder in FOLDERS
        for path in sorted((SAMPLES / folder).rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".pyc", ".md", ".gz")
    ]
    return [path.read_bytes()[:LARGEST] for path in files]


@dataclass
class ImportsCase:
    """A file on disk, and its bytes."""

    path: Path
    files: list[bytes] = field(default_factory=corpus)
    data: bytes = b""

    def __call__(self, chance: random.Random) -> int:
        data = chance.choice(self.files)
        if data.lstrip()[:1] == b"{" and chance.random() < 0.7:
            try:
                document = fuzz_case.damage_json(chance, json.loads(data))
                data = json.dumps(document).encode(errors="surrogatepass")
            except ValueError:
                data = fuzz_case.damage(chance, data)
        elif chance.random() < 0.5:
            data = numbers_changed(chance, data)
        else:
            data = fuzz_case.damage(chance, data)
        self.data = data
        self.path.write_bytes(data)
        with contextlib.suppress(InputError):
            read_importable(self.path)
        with contextlib.suppress(RecordingError), self.path.open("rb") as stream:
            read = read_trace(stream, "file", None, lambda *_: None)
            for trace in read.latency:
                check_sum(cut_latency_trace(trace), trace.latency_ns)
            for analysis in read.analyses:
                check_sum(cut_analysis(analysis), analysis.latency_ns)
        return 1


def check_sum(pieces: list[Piece], latency_ns: int) -> None:
    """Raise AssertionError where the pieces of an episode do not sum to its latency."""
    assert sum(piece.length_ns for piece in pieces) == latency_ns
    assert all(piece.length_ns > 0 for piece in pieces)


def numbers_changed(chance: random.Random, data: bytes) -> bytes:
    """Change some numbers of a text to ones at the bounds."""
    words = data.split(b" ")
    places = [i for i, word in enumerate(words) if word.strip().isdigit()]
    for _ in range(min(len(places), chance.choice([1, 1, 2, 8]))):
        words[chance.choice(places)] = str(fuzz_case.number(chance)).encode()
    return b" ".join(words)


def run(seed: int, seconds: float) -> fuzz_case.Result:
    """Fuzz the importers for some seconds."""
    with tempfile.TemporaryDirectory() as folder:
        case = ImportsCase(Path(folder) / "file")
        return fuzz_case.fuzz(
            "imports", case, seed, seconds, lambda path: path.write_bytes(case.data)
        )
