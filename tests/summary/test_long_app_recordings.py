"""A program's activations that are read from disk: the same figures as in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from summary_examples import manifest

from whylate.recording import samples as samples_in_memory
from whylate.recording.difference import partings
from whylate.recording.manifest import CpuAccount, Manifest
from whylate.recording.samples import Activations
from whylate.recording.store import samples_reader, sort_app, stored_app, stored_samples
from whylate.recording.store.samples import NAME, samples_writer
from whylate.recording.store.samples_reader import read_numbered, read_samples, read_series
from whylate.report.plots.payload import plot_data
from whylate.summary.figures import slowest_threads, thread_count
from whylate.summary.summarize import summarize
from whylate.wire.app_samples import Threads
from whylate.wire.samples import Rows

EACH = 20_000


def write(directory: Path, seed: int, *, late: bool = False) -> Manifest:
    """Write a recording of two CPUs whose activations ran in another order than they were due."""
    directory.mkdir()
    rng = np.random.default_rng(seed)
    accounts = []
    with samples_writer(directory, app=True) as writer:
        for cpu in range(2):
            start_ns = 5_000_000_000 + cpu
            ran_ns = start_ns + np.cumsum(rng.integers(0, 900_000, EACH)).astype(np.int64)
            ran_ns[EACH // 2 :] += 20_000_000_000
            latency = (5_000 * rng.lognormal(0, 1.5, EACH)).astype(np.int64)
            latency[:: EACH // 8] += 3_000_000_000 * late
            due = np.maximum(ran_ns - latency, start_ns) // 1000 * 1000 + 1000
            number = np.arange(EACH) + 5 * (np.arange(EACH) > EACH // 3)
            pid = rng.choice([301, 302, 303 + cpu], EACH, p=[0.7, 0.29, 0.01]).astype(np.int32)
            for low in range(0, EACH, 3333):
                rows = slice(low, low + 3333)
                none = np.zeros(number[rows].size, np.bool_)
                writer.rows(
                    cpu,
                    Rows(number[rows], latency[rows], none),
                    None,
                    Threads(pid[rows], due[rows], np.ones(none.size, np.int8)),
                )
            accounts.append(
                CpuAccount(
                    cpu=cpu, start_ns=start_ns, end_ns=int(ran_ns[-1]) + 1, expected=EACH + 5,
                    seen=EACH, overrun=0, dropped=5, policy="other", priority=0,
                    memory_locked=False,
                )
            )  # fmt: skip
    return manifest([], accounts=accounts)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples_in_memory, "CHUNK_ROWS", 8192)
    monkeypatch.setattr(stored_samples, "CHUNK_ROWS", 1111)
    monkeypatch.setattr(stored_app, "_STEP", 64)
    monkeypatch.setattr(sort_app, "SPAN_ROWS", 1500)


@pytest.mark.parametrize("late", [False, True])
def test_a_program_on_disk_has_the_figures_of_one_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    made = write(tmp_path / "r", 1, late=late)
    path = tmp_path / "r" / NAME

    def figures(series: Sequence[Activations]) -> list[object]:
        summary = summarize(series, made, "r", ["p99.9<20us", "max<10ms"])
        rows = np.array([0, EACH - 1, 77, 78, 12_345])
        times_ns = series[0].start_ns + np.arange(-2, 40, 0.37) * 1_000_000_000
        return [
            msgspec.to_builtins(summary),
            plot_data(series, summary),
            thread_count(series),
            slowest_threads(made, series),
            [cpu.activation_of(rows).tolist() for cpu in series],
            [cpu.due_of(rows).tolist() for cpu in series],
            [cpu.rows_due(times_ns.astype(np.int64)).tolist() for cpu in series],
            [[part.tolist() for part in cpu.exceeding(50_000)] for cpu in series],
            [cpu.of_thread(302).size for cpu in series],
        ]

    memory = figures(read_samples(path, made.cpus, 0, app=True))
    monkeypatch.setattr(samples_reader, "MEMORY_ROWS", 2 * EACH - 1)
    series = read_series(path, made.cpus, 0, app=True)
    assert isinstance(series[0], stored_app.StoredApp)
    assert figures(series) == memory


@pytest.mark.parametrize("context", [0, 3, 40])
def test_recordings_on_disk_part_where_those_in_memory_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int
) -> None:
    made = [write(tmp_path / str(seed), 1 + seed // 2, late=seed == 1) for seed in range(3)]
    paths = [tmp_path / str(seed) / NAME for seed in range(3)]

    def found() -> list[object]:
        runs = [read_numbered(path, each.cpus, 0, app=True)
                for path, each in zip(paths, made, strict=True)]  # fmt: skip
        return [partings(runs[0], other, context) for other in (runs[0], runs[1], runs[2])]

    with monkeypatch.context() as whole:
        whole.setattr(samples_in_memory, "CHUNK_ROWS", 1 << 20)
        memory = found()
    monkeypatch.setattr(samples_reader, "MEMORY_ROWS", 2 * EACH - 1)
    assert memory[0] == []
    assert memory[1]
    assert found() == memory
