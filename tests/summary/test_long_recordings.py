"""Recordings that are read from disk: the same figures as in memory, and memory that stays flat."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from summary_examples import MS, manifest

from timed_process import run
from whylate.causes.answer import explain
from whylate.recording import samples as samples_in_memory
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.manifest import MANIFEST, CpuAccount, Manifest
from whylate.recording.samples import Activations
from whylate.recording.store import samples as samples_file
from whylate.recording.store import samples_reader, stored_samples
from whylate.recording.store.samples import samples_writer
from whylate.recording.store.samples_reader import read_samples, read_series, store_samples
from whylate.report.plots.payload import plot_data
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.tail.return_level import summarize_tail
from whylate.summary.summarize import summarize
from whylate.wire.constants import NOT_SEEN
from whylate.wire.samples import Rows

#: What may be unusual in a recording, and all of it together.
KINDS = ("plain", "gaps", "overruns", "coarse", "early", "wide", "unseen", "no stages", "2.2 s")
EACH = 30_000


def made_up(rng: np.random.Generator, n: int, kinds: Sequence[str]) -> tuple[Rows, np.ndarray]:
    """Make up rows of one CPU, and their stages."""
    latency = (5_000 * rng.lognormal(0, 0.2, n)).astype(np.int64)
    late = rng.random(n) < 2e-3
    latency[late] += (12_000 * rng.pareto(4, int(late.sum()))).astype(np.int64)
    overrun = np.zeros(n, bool)
    if "overruns" in kinds:
        for start in rng.integers(0, n - 40, 25).tolist():
            latency[start : start + 30] = 30_500_000 - np.arange(30) * MS
            overrun[start + 1 : start + 30] = True
    if "2.2 s" in kinds:
        latency[n // 2 : n // 2 + 2201] = 2_200_500_000 - np.arange(2201) * MS
        overrun[n // 2 + 1 : n // 2 + 2201] = True
    if "wide" in kinds:
        latency = np.where(overrun, latency, (latency * rng.lognormal(0, 2, n)).astype(np.int64))
    if "coarse" in kinds:
        latency = latency // 1000 * 1000
    if "early" in kinds:
        latency[rng.random(n) < 0.01] = -900
    number = np.arange(n)
    if "gaps" in kinds:
        number = number + 7 * (number > n // 3) + 2000 * (number > n // 2)
    stages = np.stack([latency * k // 10 for k in (3, 4, 9)], axis=1)[~overrun]
    if "unseen" in kinds:
        stages[rng.random(len(stages)) < 0.02] = NOT_SEEN
    return Rows(number, latency, overrun), stages


def write(directory: Path, kinds: Sequence[str], each: int = EACH, cpus: int = 2) -> Manifest:
    """Write a recording of so many activations a CPU, in several row groups."""
    directory.mkdir()
    rng = np.random.default_rng(1)
    accounts = []
    with samples_writer(directory) as writer:
        for cpu in range(cpus):
            seen = overruns = first = 0
            for _ in range(0, each, EACH):
                rows, stages = made_up(rng, EACH, kinds)
                rows = Rows(rows.activation + first, rows.latency_ns, rows.overrun)
                writer.rows(cpu, rows, None if "no stages" in kinds else stages)
                first = int(rows.activation[-1]) + 1
                overruns += int(rows.overrun.sum())
                seen += EACH - int(rows.overrun.sum())
            start_ns = 5_000_000_000 + 300_000 * cpu
            expected = first
            accounts.append(
                CpuAccount(
                    cpu=cpu,
                    start_ns=start_ns,
                    end_ns=start_ns + expected * MS,
                    expected=expected,
                    seen=seen,
                    overrun=overruns,
                    dropped=expected - seen - overruns,
                    policy="fifo",
                    priority=80,
                    memory_locked=True,
                )
            )
    made = manifest([], accounts=accounts)
    (directory / MANIFEST).write_bytes(msgspec.json.encode(made))
    return made


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have many chunks and row groups of a small recording."""
    monkeypatch.setattr(samples_in_memory, "CHUNK_ROWS", 8192)
    monkeypatch.setattr(stored_samples, "CHUNK_ROWS", 1111)
    monkeypatch.setattr(samples_file, "GROUP_ROWS", EACH // 2)


@pytest.mark.parametrize("kinds", [*([kind] for kind in KINDS), list(KINDS[1:-2]), list(KINDS[1:])])
def test_a_recording_on_disk_has_the_figures_of_one_in_memory(
    tmp_path: Path, kinds: list[str]
) -> None:
    made = write(tmp_path / "r", kinds)
    path = tmp_path / "r" / samples_file.NAME
    requirements = ["p99.9<20us", "max<10ms", "over(50us)<1/10s"]

    def figures(series: Sequence[Activations]) -> list[object]:
        summary = summarize(series, made, "r", requirements)
        together = merge_ordered([sort_series(cpu) for cpu in series])
        tail = summarize_tail(together, series, 0.5)
        answers = [explain(made, series, (), threshold_ns=limit) for limit in (None, 3_000)]
        return [
            msgspec.to_builtins(summary),
            plot_data(series, summary),
            tail.peaks.latency_ns.tolist(),
            tail.peaks.at_least.tolist(),
            [tail.floor_ns, tail.seconds, tail.rows, tail.p50_ns, tail.p99_ns, tail.drift_p],
            [(answer.threshold_ns, answer.threshold_name) for answer in answers],
        ]

    memory = figures(read_samples(path, made.cpus, MS))
    disk = figures(store_samples(path, made.cpus, MS))
    assert disk == memory


def test_rows_are_found_by_their_number_and_their_time(tmp_path: Path) -> None:
    made = write(tmp_path / "r", ["gaps"])
    path = tmp_path / "r" / samples_file.NAME
    memory, disk = (read(path, made.cpus, MS)[1] for read in (read_samples, store_samples))
    rows = np.array([0, 1, EACH // 3, EACH // 3 + 1, EACH // 2 + 1, EACH - 1])
    assert disk.activation_of(rows).tolist() == memory.activation_of(rows).tolist()
    assert disk.due_of(rows).tolist() == memory.due_of(rows).tolist()
    times_ns = disk.start_ns + np.arange(-2, EACH + 4000) * MS + 1
    assert disk.rows_due(times_ns).tolist() == memory.rows_due(times_ns).tolist()


def test_what_is_above_a_limit_does_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    made = write(tmp_path / "r", ["overruns"])
    path = tmp_path / "r" / samples_file.NAME
    disk = store_samples(path, made.cpus, MS)[0]
    for limit_ns in (30_000, 50_000, 20_000, 4_000, 10**9, 30_000):
        for overruns in (False, True):
            fresh = store_samples(path, made.cpus, MS)[0]
            kept = disk.exceeding(limit_ns, overruns=overruns)
            first = fresh.exceeding(limit_ns, overruns=overruns)
            assert [part.tolist() for part in kept] == [part.tolist() for part in first]


def test_a_short_recording_is_in_memory_and_a_long_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write(tmp_path / "r", ["plain"])
    path = tmp_path / "r" / samples_file.NAME
    assert not isinstance(read_series(path, made.cpus, MS)[0], stored_samples.StoredSamples)
    monkeypatch.setattr(samples_reader, "MEMORY_ROWS", 2 * EACH - 1)
    assert isinstance(read_series(path, made.cpus, MS)[0], stored_samples.StoredSamples)


def test_a_file_that_contradicts_its_manifest_is_refused_on_disk_too(tmp_path: Path) -> None:
    made = write(tmp_path / "r", ["overruns"])
    path = tmp_path / "r" / samples_file.NAME
    moved = [
        msgspec.structs.replace(account, seen=account.seen - 1, overrun=account.overrun + 1)
        for account in made.cpus
    ]
    with pytest.raises(RecordingError, match="of different runs"):
        store_samples(path, moved, MS)
    with samples_writer(tmp_path) as writer:
        number = np.array([0, 2, 1])
        writer.rows(0, Rows(number, number, np.zeros(3, bool)))
    one = [msgspec.structs.replace(made.cpus[0], seen=3, overrun=0)]
    with pytest.raises(RecordingError, match="not in order"):
        store_samples(tmp_path / samples_file.NAME, one, MS)


def test_a_full_temporary_folder_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write(tmp_path / "r", ["plain"])
    path = tmp_path / "r" / samples_file.NAME

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DiskError, match="set TMPDIR"):
        store_samples(path, made.cpus, MS)


@pytest.mark.parametrize("verb", [("report", "--json"), ("bound", "--above", "100us"), ("diff",)])
def test_memory_does_not_grow_with_the_run(tmp_path: Path, verb: tuple[str, ...]) -> None:
    """In memory three million more activations are 75 MiB, and 48 to sort them."""
    peaks = []
    for number, millions in enumerate((1.08, 4.08)):
        write(tmp_path / str(number), ["overruns", "gaps"], round(millions * 500_000))
        recordings = [str(tmp_path / str(number))] * (2 if verb == ("diff",) else 1)
        peaks.append(run(verb[0], *recordings, *verb[1:]).peak_mib)
    assert peaks[1] - peaks[0] < 32, f"{peaks[0]:.0f} to {peaks[1]:.0f} MiB"
