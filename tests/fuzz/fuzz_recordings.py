"""Recordings: a directory with a damaged manifest, journal or Parquet file is read or refused."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzz_case
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_frames import made

from whylate.causes.answer import explain_recording, read_activations
from whylate.cli.report.benchmark import show_benchmark
from whylate.cli.report.latencies import show
from whylate.recording.errors import DiskError, LackingError, RecordingError
from whylate.recording.reader import open_recording
from whylate.recording.store.journal import MAX_RECORD
from whylate.report.exports.perfetto import write_perfetto
from whylate.summary.summarize import summarize
from whylate.summary.workloads import summarize_benchmark
from whylate.wire.frame import FrameDecoder, encode_frame
from whylate.wire.messages import MESSAGES

#: Recordings of each workload, finished and killed, of an older schema.
RECORDED = Path(__file__).parents[1] / "recording" / "data" / "schema5"
Files = dict[str, bytes]


def read_folder(folder: Path) -> Files:
    """Return the files of a recording."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def corpus() -> list[Files]:
    """Return recordings of the older schema, and those that are recovered from journals."""
    recordings = [read_folder(path) for path in sorted(RECORDED.iterdir()) if path.is_dir()]
    for files in list(recordings):
        if "journal" in files:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "r"
                write_folder(path, files)
                open_recording(path)
                recordings.append(read_folder(path))
    return recordings


def write_folder(path: Path, files: Files) -> None:
    """Write a recording."""
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)


def damage_journal(chance: random.Random, data: bytes) -> bytes:
    """Change some frames of a journal, their checksums right."""
    frames = FrameDecoder(MAX_RECORD).feed(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.randrange(len(frames))
        frame = frames[at]
        kind, number, payload = frame.kind, frame.number, frame.payload
        where = chance.random()
        if payload[:1] == b"{":
            payload = json.dumps(fuzz_case.damage_json(chance, json.loads(payload))).encode()
        elif where < 0.5 and kind in MESSAGES:
            message = made(chance, chance.choice([MESSAGES[kind], *MESSAGES.values()]))
            with contextlib.suppress(Exception):
                kind, payload = message.KIND, message.pack()
        elif payload:
            payload = fuzz_case.damage(chance, payload, 2)
        frames[at] = type(frame)(kind, number, payload)
        if where > 0.95:
            frames.insert(chance.randrange(len(frames)), frames[at])
    return b"".join(encode_frame(f.kind, f.number, f.payload) for f in frames)


def damage_parquet(chance: random.Random, data: bytes) -> bytes:
    """Change some values of a table, or its rows."""
    table = pq.read_table(io.BytesIO(data))
    for _ in range(chance.choice([1, 1, 3])):
        at = chance.randrange(table.num_columns)
        column = table.column(at).to_pylist()
        if column:
            row = chance.randrange(len(column))
            with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
                column[row] = chance.choice([None, fuzz_case.number(chance), column[0]])
                array = pa.array(column, table.schema.field(at).type)
                table = table.set_column(at, table.schema.field(at), array)
    if chance.random() < 0.1:
        table = pa.concat_tables([table, table.slice(0, chance.randrange(table.num_rows + 1))])
    out = io.BytesIO()
    try:
        pq.write_table(table, out)
    except pa.ArrowException:
        # A null where the schema has none.
        return fuzz_case.damage(chance, data)
    return out.getvalue()


@dataclass
class RecordingsCase:
    """A directory that is written, read and removed."""

    folder: Path
    recordings: list[Files] = field(default_factory=corpus)
    files: Files = field(default_factory=dict)

    def __call__(self, chance: random.Random) -> int:
        self.files = dict(chance.choice(self.recordings))
        name = chance.choice(sorted(self.files))
        data = self.files[name]
        if name == "manifest.json" and chance.random() < 0.9:
            document: Any = fuzz_case.damage_json(chance, json.loads(data))
            data = json.dumps(document).encode(errors="surrogatepass")
        elif name == "journal" and chance.random() < 0.9:
            data = damage_journal(chance, data)
        elif name.endswith(".parquet") and chance.random() < 0.8:
            data = damage_parquet(chance, data)
        else:
            data = fuzz_case.damage(chance, data)
        self.files[name] = data
        path = self.folder / "r"
        write_folder(path, self.files)
        try:
            with contextlib.suppress(RecordingError, LackingError, DiskError):
                read_all(path, pages=chance.random() < 0.1)
        finally:
            shutil.rmtree(path)
        return 1

    def keep(self, path: Path) -> None:
        """Write the last recording."""
        shutil.rmtree(path, ignore_errors=True)
        write_folder(path, self.files)


def read_all(path: Path, *, pages: bool) -> None:
    """Read everything that is read of a recording, as the verbs do; raises what they report."""
    recording = open_recording(path)
    if recording.manifest.plan.benchmark is not None:
        summarize_benchmark(recording.manifest, recording.repetitions, "r")
    else:
        summarize(recording.samples, recording.manifest, "r", ["p50<1ms", "over(1ms)<1/1s"])
        explain_recording(recording)
    if pages:
        if recording.manifest.plan.benchmark is None:
            write_perfetto(path / "trace", lambda: read_activations(recording))
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            if recording.manifest.plan.benchmark is not None:
                show_benchmark(path, as_json=False, page=path / "page.html")
            else:
                show(path, (), as_json=False, page=path / "page.html")


def run(seed: int, seconds: float) -> fuzz_case.Result:
    """Fuzz recordings for some seconds."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        case = RecordingsCase(Path(folder))
        keep: Callable[[Path], object] = case.keep
        return fuzz_case.fuzz("recordings", case, seed, seconds, keep)
