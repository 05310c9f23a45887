"""Open a recording, complete or not."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whylate.files import read_bounded
from whylate.recording import former_schema
from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.imported.mark import is_imported
from whylate.recording.manifest import MANIFEST, SCHEMA_VERSION, Manifest, newer_schema
from whylate.recording.store import journal

if TYPE_CHECKING:
    from whylate.recording.repetitions import Repetitions
    from whylate.recording.samples import Activations, CpuSamples, Numbered
    from whylate.recording.store.executions import ExecutionFile
    from whylate.recording.workloads.activations import ActivationWorkload

#: A larger file is no manifest.
MAX_MANIFEST = 64 << 20


@dataclass(frozen=True)
class Recording:
    """A recording on disk; its samples are read when they are first asked for."""

    directory: Path
    manifest: Manifest

    @cached_property
    def repetitions(self) -> Repetitions:
        """The repetitions of a benchmark; raises RecordingError, and LackingError of another."""
        from whylate.recording.store.repetitions import read_repetitions

        benchmark = self.manifest.plan.benchmark
        if benchmark is None:
            raise LackingError(f"{self.directory} is of no benchmark: it has no repetitions")
        return read_repetitions(self.directory, benchmark)

    @cached_property
    def samples(self) -> list[CpuSamples]:
        """The samples of each CPU in memory; raises RecordingError, LackingError of a benchmark."""
        from whylate.recording.store.samples_reader import read_samples

        path, activations = self._samples_file()
        app = not activations.is_scheduled
        return read_samples(path, self.manifest.cpus, activations.interval_ns, app=app)

    @cached_property
    def series(self) -> Sequence[Activations]:
        """The same, of a long recording from a temporary file: for reading them in order."""
        from whylate.recording.store.samples_reader import read_series

        path, activations = self._samples_file()
        app = not activations.is_scheduled
        return read_series(path, self.manifest.cpus, activations.interval_ns, app=app)

    @cached_property
    def numbered(self) -> Sequence[Numbered]:
        """The same, for reading them in the order of their numbers."""
        from whylate.recording.store.samples_reader import read_numbered

        path, activations = self._samples_file()
        app = not activations.is_scheduled
        return read_numbered(path, self.manifest.cpus, activations.interval_ns, app=app)

    @property
    def executions(self) -> ExecutionFile | None:
        """What is known of each execution of a section; None of another workload."""
        from whylate.recording.store.executions import ExecutionFile
        from whylate.recording.store.samples import NAME_OF_LONGER, NAME_OF_TREATED

        if not self.manifest.plan.has_parts:
            return None
        path, activations = self._samples_file()
        longer = self.directory / NAME_OF_LONGER if activations.longer_than_ns is not None else None
        has_arms = activations.experiment is not None
        treated = self.directory / NAME_OF_TREATED if has_arms else None
        return ExecutionFile(path, tuple(self.manifest.plan.row_counters), longer, treated)

    def _samples_file(self) -> tuple[Path, ActivationWorkload]:
        from whylate.recording.store.samples import NAME

        activations = self.manifest.plan.activations
        if activations is None:
            raise LackingError(
                f"{self.directory} is of the benchmark {self.manifest.plan.workload.kind}, which "
                "has no latencies: use whylate report or whylate compare"
            )
        path = self.directory / NAME
        if not path.exists():
            raise RecordingError(f"{self.directory} has no {NAME}: it is incomplete")
        return path, activations


def open_recording(directory: Path) -> Recording:
    """Open a recording, after recovering it from its journal if its run was killed.

    Raises RecordingError for what is no recording, is still being made or has a newer schema;
    LackingError for an imported recording.
    """
    try:
        is_directory = stat.S_ISDIR(directory.stat().st_mode)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise RecordingError(
            f"{directory} cannot be read ({why}): a recording is a directory"
        ) from None
    if not is_directory:
        raise RecordingError(
            f"{directory} is not a directory: a recording is a directory, and whylate import "
            "makes one of another tool's file"
        )
    if is_imported(directory):
        raise LackingError(
            f"{directory} was imported, and has not what whylate measure records: whylate report "
            "and whylate compare take it"
        )
    with journal.locked(directory) as wreck:
        if not wreck:
            return Recording(directory, read_manifest(directory))
        # Imported only here: few recordings are recovered.
        from whylate.recording.finish import finish

        manifest = finish(directory)
    return Recording(directory, manifest)


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a finished recording; raises RecordingError."""
    path = directory / MANIFEST
    try:
        text = read_bounded(path, MAX_MANIFEST)
    except FileNotFoundError:
        raise RecordingError(
            f"{directory} is not a recording of whylate: it has no {MANIFEST}"
        ) from None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    try:
        raw: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"{path} is damaged: {error}") from None
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RecordingError(newer_schema(directory, version))
    try:
        if isinstance(version, int) and version <= former_schema.FORMER_VERSION:
            raw = former_schema.convert_manifest(raw)
        return msgspec.convert(raw, type=Manifest)
    except (msgspec.ValidationError, *former_schema.ERRORS) as error:
        raise RecordingError(f"{path} is not a manifest of whylate: {error}") from None
