"""The importers: a file of another tool, damaged, gives runs or one clear line."""

from __future__ import annotations

import functools
import json
import math
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import fuzz_case
import numpy as np
import seeds
from mutate import NUMBERS, mutate

from whylate.recording.imported.executions.model import COUNTERS, MOST, Executions
from whylate.recording.imported.model import MOST_ACTIVATIONS, MOST_NS, ImportedRun, InputError
from whylate.recording.imported.numbers import Table
from whylate.recording.imported.recording import About, ImportedRecording, read_imported
from whylate.recording.imported.write import Importable, read_importable, write_imported
from whylate.summary.imported import summarize_imported

#: Files of other tools that other tests read, and tests with more of them.
FOLDERS = ["recording/imported", "recording/corpus/files", "compare/published"]
TESTS = ["recording/imported", "compare"]
#: Documents of which no test has a file.
DOCUMENTS = [
    {"results": [{"command": "true", "mean": 0.5, "times": [0.4, 0.6], "exit_codes": [0, 0]}]},
    {"context": {"caches": []}, "benchmarks": [{"name": "BM_a", "run_name": "BM_a",
     "run_type": "iteration", "iterations": 9, "real_time": 1.5, "time_unit": "ns"}]},
    {"fio version": "fio-3.39", "jobs": [{"jobname": "a", "read": {"total_ios": 3, "lat_ns": {
     "min": 1000, "max": 3000, "mean": 2000.0, "N": 3}, "clat_ns": {"min": 1000, "max": 3000,
     "mean": 2000.0, "N": 3, "bins": {"1000": 1, "2000": 1, "3000": 1}}}}]},
]  # fmt: skip
#: CPU seconds of a case: its file is small.
CASE_S = 2.0
#: How often what was read is written as a recording too, and read again.
KEPT = 0.05
#: How often a trace is given to the importers: they say that it is one.
TRACES = 0.02


@functools.cache
def corpus() -> tuple[list[bytes], list[bytes]]:
    """Return the files, small or in pieces, and pieces of traces."""
    files = [*seeds.files_in(FOLDERS), *seeds.texts_in_tests(TESTS)]
    files += [json.dumps(document, indent=1).encode() for document in DOCUMENTS]
    traces = seeds.files_in(["recording/traces/data"])
    return (
        [piece for data in files for piece in seeds.pieces_of(data)],
        [piece for data in traces for piece in seeds.pieces_of(data)],
    )


def table(chance: random.Random) -> bytes:
    """Return a table of numbers, or a histogram, as no tool writes it quite so."""
    between = chance.choice([b" ", b",", b", ", b";", b"\t", b" | "])
    columns = chance.choice([1, 1, 2, 2, 3, 5])
    rows = []
    if chance.random() < 0.6:
        names = [b"latency_us", b"latency_ns", b"count", b"time", b"# us", b"x", b"", b"1"]
        rows.append(between.join(chance.choices(names, k=columns)))
    at = 0
    for _ in range(chance.randrange(12)):
        at += chance.choice([0, 1, 1, 1, 2, 1000])
        cells = [b"%d" % at, *(b"%d" % chance.randrange(100) for _ in range(columns - 1))]
        if chance.random() < 0.1:
            cells[chance.randrange(columns)] = chance.choice(NUMBERS)
        rows.append(between.join(cells))
    return b"\n".join(rows) + b"\n"


def executions(chance: random.Random) -> bytes:
    """Return a table of executions with counters, in rows or in marks."""
    names = ["cycles", "instructions", "l1i_stall", "stalls", "misses", "duration_us", "at_us",
             "where", "execution", "note"]  # fmt: skip
    heading = chance.sample(names, k=chance.randrange(2, len(names)))
    places = chance.choice([["f+0x4", "f+0x8"], ["f", "g", "h"], ["start", "end"]])
    totals = dict.fromkeys(heading, 0)
    rows = [",".join(heading)]
    for number in range(chance.choice([1, 2, 4, 10, 200])):
        for name in totals:
            totals[name] += chance.randrange(1000)
        cells = totals | {"where": places[number % len(places)], "execution": number // 2}
        rows.append(",".join(str(cells[name]) for name in heading))
    return "\n".join(rows).encode() + b"\n"


@dataclass
class ImportsCase:
    """A file on disk, and its bytes."""

    folder: Path
    files: list[bytes] = field(default_factory=lambda: corpus()[0])
    traces: list[bytes] = field(default_factory=lambda: corpus()[1])
    data: bytes = b""

    def made(self, chance: random.Random) -> bytes:
        """Return a file."""
        where = chance.random()
        if where < 0.06:
            data = table(chance) if chance.random() < 0.5 else executions(chance)
            return data if where < 0.03 else mutate(chance, data, self.files)
        data = chance.choice(self.traces if where < 0.06 + TRACES else self.files)
        if data.lstrip()[:1] in (b"{", b"[") and chance.random() < 0.6:
            try:
                document = fuzz_case.damage_json(chance, json.loads(data))
                return json.dumps(document).encode(errors="surrogatepass")
            except ValueError:
                pass
        return mutate(chance, data, self.files)

    def __call__(self, chance: random.Random) -> int:
        self.data = self.made(chance)
        path = self.folder / "file"
        path.write_bytes(self.data)
        column = chance.choice(["1", "2", "3", "x", "count", ""]) if chance.random() < 0.1 else None
        unit = chance.choice(["us", "ns", "s", "µs", "?"]) if chance.random() < 0.05 else ""
        try:
            runs = read_importable(path, column, unit)
        except InputError as error:
            fuzz_case.check_line(error)
            return 1
        check_importable(runs, len(self.data))
        if chance.random() < KEPT and len(runs) < 10:
            check_kept(self.folder / "recording", runs)
        return 1


def check_importable(runs: list[Importable], size: int) -> None:
    """Raise AssertionError for figures that a file of so many bytes cannot hold."""
    assert runs
    assert [run.number for run in runs] == list(range(1, len(runs) + 1))
    assert len(runs) <= size
    for run in runs:
        if isinstance(run.data, Table):
            check_table(run.data, size)
        elif isinstance(run.data, Executions):
            check_executions(run.data, size)
        else:
            check_run(run.data, size)
        # What is not of the samples is from no file: one will do.
        summarize_imported(ImportedRecording(Path("file"), _about(), run.data), _limits(run))


def _limits(run: Importable) -> list[str]:
    return [] if not isinstance(run.data, ImportedRun) else ["p50<1ms", "max<1s", "over(1ms)<1/1s"]


def check_table(read: Table, size: int) -> None:
    """Raise AssertionError for numbers that are none, or more than a file has bytes for."""
    assert 0 < len(read.values) <= size
    assert all(math.isfinite(value) and abs(value) <= 1e100 for value in read.values)
    assert not read.factors or len(read.factors) == len(read.values)


def check_executions(read: Executions, size: int) -> None:
    """Raise AssertionError for executions that cannot be."""
    assert 0 < read.n <= size
    assert read.having(COUNTERS)
    for column in read.columns:
        if column.name in read.texts:
            assert read.texts[column.name].codes.size == read.n
            continue
        values = read.numbers[column.name]
        assert values.size == read.n
        assert np.isfinite(values).all()
        assert (np.abs(values) <= MOST).all()
        assert column.role == "time" or (values >= 0).all()


def check_run(run: ImportedRun, size: int) -> None:
    """Raise AssertionError for a run that cannot be."""
    assert run.n is None or 0 <= run.n <= MOST_ACTIVATIONS
    assert run.overflow >= 0
    assert run.overruns >= 0
    figures = [run.average_ns, run.max_ns, run.average_cut_ns, *dict(run.quantiles_ns).values()]
    assert all(f is None or (math.isfinite(f) and abs(f) <= MOST_NS) for f in figures)
    assert (run.latency_ns is None) == (run.counts is None)
    if run.latency_ns is None or run.counts is None:
        return
    assert run.latency_ns.dtype == run.counts.dtype == np.int64
    assert run.latency_ns.shape == run.counts.shape
    assert run.latency_ns.size <= size
    assert (run.counts > 0).all()
    if run.latency_ns.size:
        least, most = int(run.latency_ns.min()), int(run.latency_ns.max())
        assert max(abs(least), abs(most)) <= MOST_NS
        assert run.ordered or (np.diff(run.latency_ns) > 0).all()
        assert run.max_ns is None or run.overflow or most <= run.max_ns


def check_kept(directory: Path, runs: list[Importable]) -> None:
    """Raise AssertionError where a recording holds something else than was imported."""
    try:
        written = write_imported(directory, runs)
        for path, run in zip(written, runs, strict=True):
            kept = read_imported(path)
            summarize_imported(kept, _limits(run))
            was = run.data
            if isinstance(was, Table):
                assert isinstance(kept.data, Table)
                assert kept.data.values == was.values
            elif isinstance(was, Executions):
                assert isinstance(kept.data, Executions)
                assert kept.data.columns == was.columns
                for name, values in was.numbers.items():
                    assert np.array_equal(kept.data.numbers[name], values)
            else:
                assert isinstance(kept.data, ImportedRun)
                now = kept.data
                assert now.n == was.n
                assert now.average_ns == was.average_ns
                # Kept as a float: of a year to 4 ns.
                assert (now.max_ns is None) == (was.max_ns is None)
                assert now.max_ns is None or now.max_ns == float(was.max_ns or 0)
                if was.latency_ns is not None:
                    assert now.latency_ns is not None
                    assert np.array_equal(now.latency_ns, was.latency_ns)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@functools.cache
def _about() -> About:
    """What stands beside the samples of an import."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        path = Path(folder) / "file"
        path.write_bytes(b"1\n2\n")
        (written,) = write_imported(Path(folder) / "recording", read_importable(path))
        return read_imported(written).about


def run(seed: int, seconds: float, case: int | None = None) -> fuzz_case.Result:
    """Fuzz the importers for some seconds."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        imports = ImportsCase(Path(folder))
        return fuzz_case.fuzz(
            "imports", imports, seed, seconds, lambda path: path.write_bytes(imports.data),
            case_s=CASE_S, only=case,
        )  # fmt: skip
