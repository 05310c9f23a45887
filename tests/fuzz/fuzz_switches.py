"""Traces of switches and samples of CPUs: a damaged one is read, or refused in one line."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import fuzz_case
import msgspec
import seeds
from fuzz_imports import CASE_S
from mutate import mutate

from whylate.predict.address_ids import predict_flushes
from whylate.predict.readers import predict_readers
from whylate.recording.errors import RecordingError
from whylate.recording.traces.address_spaces import read_address_spaces
from whylate.recording.traces.cpu_samples import read_cpu_samples
from whylate.stats.id_policies import POLICIES

FOLDER = Path(__file__).parent.parent / "predict" / "data"


@functools.cache
def corpus() -> list[bytes]:
    """Return pieces of traces."""
    whole = [gzip.decompress(path.read_bytes()) for path in sorted(FOLDER.rglob("*.txt.gz"))]
    return [piece for data in whole for piece in seeds.pieces_of(data)]


@dataclass
class SwitchesCase:
    """The text of a trace."""

    pieces: list[bytes] = field(default_factory=corpus)
    data: bytes = b""

    def __call__(self, chance: random.Random) -> int:
        self.data = mutate(chance, chance.choice(self.pieces), self.pieces)
        try:
            spaces = read_address_spaces(io.BytesIO(self.data), "file")
            check_document(predict_flushes("file", spaces, [1, 8], POLICIES))
        except RecordingError as error:
            fuzz_case.check_line(error)
        try:
            samples = read_cpu_samples(io.BytesIO(self.data), "file", "read_device")
            check_document(predict_readers("file", "read_device", samples, [72], 1_000))
        except RecordingError as error:
            fuzz_case.check_line(error)
        return 1


def check_document(answer: msgspec.Struct) -> None:
    """Raise ValueError for a figure that is no number: it has no place in JSON."""
    json.dumps(msgspec.to_builtins(answer), allow_nan=False)


def run(seed: int, seconds: float, case: int | None = None) -> fuzz_case.Result:
    """Fuzz the readers of switches and samples for some seconds."""
    switches = SwitchesCase()
    return fuzz_case.fuzz(
        "switches", switches, seed, seconds, lambda path: path.write_bytes(switches.data),
        case_s=CASE_S, only=case,
    )  # fmt: skip
