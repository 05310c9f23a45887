"""Recordings that were cut, damaged, forged, or are of another time: one clear line each."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import starts
from whylate.boards.local import LocalBoard
from whylate.recording.errors import RecordingError
from whylate.recording.finish import finish
from whylate.recording.manifest import MANIFEST, SCHEMA_VERSION
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.store.journal import CLOSING, OPENING, locked, read_journal
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.wire.frame import encode_frame


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short real recording, and beside it the journal that it was made from."""
    directory = tmp_path_factory.mktemp("recorded") / "r"
    keep = directory.with_name("journal")

    def keep_journal(path: Path) -> object:
        shutil.copy(path / "journal", keep)
        return finish(path)

    request = RunPlan(workload=Wakeup(duration_ns=1_500_000_000, interval_ns=500_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whylate.run.measure.finish", keep_journal)
        measure(LocalBoard(), request, directory, Quiet())
    return directory


@pytest.fixture
def copy(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "r"))


def fault(directory: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        _ = open_recording(directory).samples
    text = str(caught.value)
    assert "\n" not in text
    return text


def from_journal(recorded: Path, tmp_path: Path, data: bytes) -> Path:
    del recorded
    directory = tmp_path / "j"
    directory.mkdir()
    (directory / "journal").write_bytes(data)
    return directory


def test_what_is_no_recording_is_said(tmp_path: Path) -> None:
    assert "No such file" in fault(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    assert "is not a directory" in fault(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert f"is not a recording of whylate: it has no {MANIFEST}" in fault(tmp_path / "empty")


def test_a_newer_recording_is_refused_and_the_version_named(copy: Path) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["schema_version"] = SCHEMA_VERSION + 1
    manifest["something_new"] = True
    (copy / MANIFEST).write_text(json.dumps(manifest))
    assert f"recorded by a newer whylate (schema {SCHEMA_VERSION + 1}" in fault(copy)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
def test_a_manifest_cut_short_is_damaged(copy: Path, part: float) -> None:
    text = (copy / MANIFEST).read_bytes()
    (copy / MANIFEST).write_bytes(text[: int(len(text) * part)])
    assert "damaged" in fault(copy)


def test_a_manifest_of_something_else_is_refused(copy: Path) -> None:
    (copy / MANIFEST).write_text('{"format": "something else"}')
    assert "is not a manifest of whylate" in fault(copy)
    (copy / MANIFEST).write_text("[" * 100_000)
    assert "damaged" in fault(copy)


@pytest.mark.parametrize("part", [0.0, 0.5, 0.999])
def test_samples_cut_short_cannot_be_read(copy: Path, part: float) -> None:
    path = copy / "samples.parquet"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    assert "is not a Parquet file that can be read" in fault(copy)


def test_a_parquet_file_that_is_not_ours_is_refused(copy: Path) -> None:
    pq.write_table(pa.table({"latency": [1.0, 2.0]}), copy / "samples.parquet")
    assert "was not written by whylate" in fault(copy)


def test_samples_of_another_run_are_refused(copy: Path) -> None:
    table = pq.read_table(copy / "samples.parquet")
    pq.write_table(table.slice(0, table.num_rows - 3), copy / "samples.parquet")
    assert "are of different runs" in fault(copy)


def test_samples_out_of_order_are_refused(copy: Path) -> None:
    table = pq.read_table(copy / "samples.parquet")
    index = np.arange(table.num_rows)
    index[[5, 6]] = index[[6, 5]]
    pq.write_table(table.take(index), copy / "samples.parquet")
    assert "are not in order" in fault(copy)


def test_missing_samples_are_said(copy: Path) -> None:
    (copy / "samples.parquet").unlink()
    assert "it is incomplete" in fault(copy)


def test_a_manifest_that_asks_for_all_memory_is_refused(copy: Path) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["cpus"][0]["seen"] = 10**17
    (copy / MANIFEST).write_text(json.dumps(manifest))
    assert "are of different runs" in fault(copy)


def test_a_journal_cut_anywhere_gives_all_that_is_before_the_cut(
    recorded: Path, tmp_path: Path
) -> None:
    data = recorded.with_name("journal").read_bytes()
    whole = {one.cpu: one for one in open_recording(recorded).samples}
    chance = random.Random(3)
    opening_end = data.index(b"\0", 1) + 1
    rows_before = -1
    for cut in sorted(chance.sample(range(opening_end, len(data)), 25)):
        directory = tmp_path / f"cut{cut}"
        directory.mkdir()
        (directory / "journal").write_bytes(data[:cut])
        recording = open_recording(directory)
        assert recording.manifest.state == "recovered"
        rows = 0
        for samples in recording.samples:
            n = samples.activation.size
            rows += n
            assert (samples.latency_ns == whole[samples.cpu].latency_ns[:n]).all()
            assert (samples.overrun == whole[samples.cpu].overrun[:n]).all()
        assert rows >= rows_before, "a later cut can not hold less"
        rows_before = rows
    assert rows_before > 1000


def test_a_damaged_journal_loses_only_what_was_damaged_and_counts_it(
    recorded: Path, tmp_path: Path
) -> None:
    data = bytearray(recorded.with_name("journal").read_bytes())
    middle = len(data) // 2
    data[middle] ^= 0xFF
    recording = open_recording(from_journal(recorded, tmp_path, bytes(data)))
    problems = {problem.code: problem for problem in recording.manifest.problems}
    assert problems["journal"].fatal
    for account in recording.manifest.cpus:
        assert account.expected == account.seen + account.overrun + account.dropped
    # A CPU whose first record was damaged has no account; the problem above is all that tells.
    accounts = {account.cpu: account for account in recording.manifest.cpus}
    assert accounts
    for whole in open_recording(recorded).manifest.cpus:
        if whole.cpu in accounts:
            left = accounts[whole.cpu]
            assert left.dropped == whole.seen + whole.overrun - left.seen - left.overrun


def test_what_is_no_journal_has_nothing_to_recover(recorded: Path, tmp_path: Path) -> None:
    directory = from_journal(recorded, tmp_path, os.urandom(5000))
    assert "is not a journal of whylate" in fault(directory)
    assert (directory / "journal").exists(), "nothing is removed that was not understood"


def test_a_journal_of_a_newer_schema_is_refused(recorded: Path, tmp_path: Path) -> None:
    frames, _ = read_journal(recorded.with_name("journal"))
    out = b""
    for frame in frames:
        payload = frame.payload
        if frame.kind == OPENING:
            record = json.loads(payload)
            record["schema_version"] = SCHEMA_VERSION + 7
            payload = json.dumps(record).encode()
        if frame.kind != CLOSING:
            out += encode_frame(frame.kind, frame.number, payload)
    assert f"schema {SCHEMA_VERSION + 7}" in fault(from_journal(recorded, tmp_path, out))


def test_recovery_gives_the_same_recording_as_the_end_of_the_run(
    recorded: Path, tmp_path: Path
) -> None:
    data = recorded.with_name("journal").read_bytes()
    again = open_recording(from_journal(recorded, tmp_path, data))
    once = open_recording(recorded)
    assert again.manifest == once.manifest
    for a, b in zip(again.samples, once.samples, strict=True):
        assert (a.latency_ns == b.latency_ns).all()


def test_interrupted_finishing_is_done_again(recorded: Path, tmp_path: Path) -> None:
    directory = from_journal(recorded, tmp_path, recorded.with_name("journal").read_bytes())
    (directory / "samples.parquet.partial").write_bytes(b"PAR1 half")
    (directory / "samples.parquet").write_bytes(b"PAR1 old")
    assert open_recording(directory).manifest == open_recording(recorded).manifest
    assert not (directory / "samples.parquet.partial").exists()


def test_a_recording_from_elsewhere_cannot_make_us_write_elsewhere(
    recorded: Path, tmp_path: Path
) -> None:
    directory = from_journal(recorded, tmp_path, recorded.with_name("journal").read_bytes())
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("samples.parquet.partial", f"{MANIFEST}.partial"):
        (directory / name).symlink_to(victim)
    assert open_recording(directory).manifest == open_recording(recorded).manifest
    assert victim.read_text() == "mine"
    assert not (directory / "samples.parquet").is_symlink()


def test_a_journal_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    os.mkfifo(tmp_path / "r" / "journal")
    assert "is not a file" in fault(tmp_path / "r")
    (tmp_path / "r" / "journal").unlink()
    (tmp_path / "r" / "journal").symlink_to("/etc/passwd")
    assert "cannot be read" in fault(tmp_path / "r")


def test_only_one_process_recovers_a_recording(recorded: Path, tmp_path: Path) -> None:
    directory = from_journal(recorded, tmp_path, recorded.with_name("journal").read_bytes())
    with locked(directory) as wreck:
        assert wreck
        assert "is being recovered" in fault(directory)
    assert open_recording(directory).manifest == open_recording(recorded).manifest
    with locked(directory) as wreck:
        assert not wreck


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root to mount")
def test_a_full_disk_ends_the_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("cannot mount here")
    try:
        done = starts.run(
            [sys.executable, "-m", "whylate", "measure", "--for", "60s", "--interval", "50us",
             "-o", str(small / "r")],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 3
        assert "the disk is full: what was measured is kept in" in done.stderr
        assert "Traceback" not in done.stderr
        bigger = Path(shutil.copytree(small / "r", tmp_path / "r"))
        recording = open_recording(bigger)
        assert recording.manifest.state == "recovered"
        assert sum(a.seen for a in recording.manifest.cpus) > 1000
    finally:
        subprocess.run(["umount", str(small)], check=True)
