"""From journal to recording: the same for a run that ended and for one that was killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatchmethod
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording import journal as journal_file
from whylate.recording.accounting import CpuBook
from whylate.recording.console import ConsoleAccount, read_account, read_console
from whylate.recording.crashes import find_crashes
from whylate.recording.digest import SamplesDigest
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.journal import (
    CLOSING,
    OPENING,
    Closing,
    Opening,
    read_journal,
    sync_directory,
)
from whylate.recording.load_rates import LoadBook
from whylate.recording.manifest import (
    SCHEMA_VERSION,
    CrashReport,
    Manifest,
    Plan,
    ProbeReport,
    Problem,
    State,
)
from whylate.recording.parquet import SamplesWriter, create_afresh
from whylate.recording.recorder_book import RecorderBook, read_names
from whylate.wire.events import decode_stages
from whylate.wire.frame import Frame, FrameCounts
from whylate.wire.messages import (
    UNPACK,
    CpuResult,
    CpuStarted,
    Events,
    Failed,
    LoadStarted,
    LoadWork,
    Message,
    Note,
    Progress,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Result,
    Samples,
    SampleStages,
    Window,
)
from whylate.wire.pack import WireError
from whylate.wire.samples import Rows, decode_samples

MANIFEST = "manifest.json"
#: Notes of the probe after which its samples do not say what they should.
FATAL_NOTES = {"late-start", "moved"}
#: The note that says why nothing can be recorded beside the samples.
NO_RECORDER = "no-recorder"
#: The note of a run that ended at the first activation later than its plan allows.
STOPPED = "stopped"


@dataclass
class _Reading:
    """What was found in a journal so far."""

    rows: Callable[[int, Rows, NDArray[np.int64] | None], None]
    recorder: RecorderBook | None = None
    opening: Opening | None = None
    closing: Closing | None = None
    books: dict[int, CpuBook] = field(default_factory=dict)
    result: Result | None = None
    loads: list[LoadBook] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    malformed: int = 0
    digest: SamplesDigest = field(default_factory=SamplesDigest)
    #: The last rows of each CPU: their stages come behind them.
    waiting: dict[int, tuple[Samples, Rows]] = field(default_factory=dict)

    def take(self, frame: Frame) -> None:
        """Take one frame; what cannot be understood is counted."""
        try:
            if frame.kind == OPENING:
                self.opening = msgspec.json.decode(frame.payload, type=Opening)
                self.loads = [LoadBook(plan) for plan in self.opening.plan.loads]
            elif frame.kind == CLOSING:
                self.closing = msgspec.json.decode(frame.payload, type=Closing)
            elif frame.kind in UNPACK:
                self._message(UNPACK[frame.kind](frame.payload))
        except (WireError, msgspec.ValidationError, msgspec.DecodeError):
            self.malformed += 1

    @singledispatchmethod
    def _message(self, message: Message) -> None:
        """Take a message; those that are not named below say nothing that is kept."""

    @_message.register
    def _(self, message: CpuStarted) -> None:
        if message.interval_ns and message.cpu not in self.books:
            self.books[message.cpu] = CpuBook(message)

    @_message.register
    def _(self, message: Samples) -> None:
        book = self.books.get(message.cpu)
        if book is None:
            self.malformed += 1
            return
        rows = decode_samples(message, book.started.interval_ns, book.planned)
        self.pass_on(message.cpu)
        if book.take(rows):
            self.digest.take(message.cpu, rows)
            self.waiting[message.cpu] = message, rows

    def pass_on(self, cpu: int, stages: NDArray[np.int64] | None = None) -> None:
        """Let go of the rows of a CPU that wait for their stages."""
        if cpu in self.waiting:
            self.rows(cpu, self.waiting.pop(cpu)[1], stages)

    @_message.register
    def _(self, message: SampleStages) -> None:
        stages = decode_stages(message)
        samples, _ = self.waiting.get(message.cpu, (None, None))
        if samples is None or (samples.first, samples.count) != (message.first, message.count):
            raise WireError("stages of no block of samples")
        self.pass_on(message.cpu, stages)

    @_message.register
    def _(self, message: RecorderStarted) -> None:
        if self.recorder is not None:
            self.recorder.started(message)

    @_message.register
    def _(self, message: RecorderSource) -> None:
        if self.recorder is not None:
            self.recorder.source(message)

    @_message.register
    def _(self, message: Window) -> None:
        if self.recorder is not None:
            self.recorder.window(message)

    @_message.register
    def _(self, message: Events) -> None:
        if self.recorder is not None:
            self.recorder.events(message)

    @_message.register
    def _(self, message: RecorderResult) -> None:
        if self.recorder is not None:
            self.recorder.result(message)

    @_message.register
    def _(self, message: Failed) -> None:
        # A probe that knows no recorder; all else that is refused ends the run.
        if self.recorder is not None and not self.books:
            self.recorder.refused(message.text)

    @_message.register
    def _(self, message: Progress) -> None:
        for book, upto in zip(self.books.values(), message.next, strict=False):
            book.progress = upto

    @_message.register
    def _(self, message: LoadStarted) -> None:
        if message.load < len(self.loads):
            self.loads[message.load].unit = message.unit[:40]

    @_message.register
    def _(self, message: LoadWork) -> None:
        # After the result the loads are being ended: what they do then is no rate.
        if message.load < len(self.loads) and self.result is None:
            self.loads[message.load].take(message, measuring=bool(self.books))

    @_message.register
    def _(self, message: CpuResult) -> None:
        if message.cpu in self.books:
            self.books[message.cpu].result = message

    @_message.register
    def _(self, message: Result) -> None:
        self.result = message

    @_message.register
    def _(self, message: Note) -> None:
        if message.code == NO_RECORDER and self.recorder is not None:
            self.recorder.refused(message.text)
            return
        fatal = message.code in FATAL_NOTES
        self.notes.append(Problem(message.code[:40], message.text[:400], fatal=fatal))

    @property
    def whole(self) -> bool:
        """Whether the run came to the end of its workload."""
        return self.result is not None and all(b.result for b in self.books.values())


def finish(directory: Path) -> Manifest:
    """Make samples.parquet and manifest.json from a recording's journal, and remove it.

    Nothing is removed before both files are safely on the disk, so that it can be done again
    after any interruption. The caller holds the journal's lock. Raises RecordingError when the
    journal is not one, DiskError when the disk is full.
    """
    journal = directory / journal_file.NAME
    frames, counts = read_journal(journal)
    try:
        writer = SamplesWriter(directory)
    except OSError as error:
        raise _unwritable(directory, error) from None
    reading = _Reading(writer.rows)
    try:
        for frame in frames:
            reading.take(frame)
            if frame.kind == OPENING and reading.recorder is None:
                reading.recorder = _recorder_book(directory, reading.opening)
        for cpu in list(reading.waiting):
            reading.pass_on(cpu)
        if reading.recorder is not None:
            reading.recorder.close()
        manifest = _manifest(directory, reading, counts)
        writer.close()
        _write_manifest(directory, manifest)
    except OSError as error:
        _abandon(writer, reading)
        raise _unwritable(directory, error) from None
    except RecordingError:
        _abandon(writer, reading)
        raise
    journal.unlink()
    return manifest


def _recorder_book(directory: Path, opening: Opening | None) -> RecorderBook | None:
    if opening is None or opening.plan.recorder is None:
        return None
    machine = {"armv7": "armv7l"}.get(opening.probe_arch, opening.probe_arch)
    return RecorderBook(directory, read_names(directory / journal_file.NAME), machine)


def _abandon(writer: SamplesWriter, reading: _Reading) -> None:
    writer.abandon()
    if reading.recorder is not None:
        reading.recorder.abandon()


def _unwritable(directory: Path, error: OSError) -> DiskError:
    return DiskError(
        f"{directory} cannot be written ({os.strerror(error.errno or 0)}): the journal in it is "
        f"kept; make room and run `whylate report {directory}`"
    )


def _write_manifest(directory: Path, manifest: Manifest) -> None:
    partial = directory / (MANIFEST + ".partial")
    with create_afresh(partial) as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
        file.write(b"\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(directory / MANIFEST)
    sync_directory(directory)


def _manifest(directory: Path, reading: _Reading, counts: FrameCounts) -> Manifest:
    opening, closing = reading.opening, reading.closing
    if opening is None:
        raise RecordingError(
            f"{directory / journal_file.NAME} is not a journal of whylate, or it was cut before "
            "the run began: there is nothing in it to recover"
        )
    if opening.schema_version > SCHEMA_VERSION:
        raise RecordingError(newer_schema(directory, opening.schema_version))
    account = read_account(directory)
    crashes = _crashes(directory, account)
    return Manifest(
        format="whylate-recording",
        schema_version=SCHEMA_VERSION,
        state=_state(closing, reading),
        created=opening.created,
        whylate=opening.whylate,
        board=opening.board,
        clock=opening.clock,
        plan=opening.plan,
        cpus=[book.account() for book in reading.books.values()],
        loads=[load.report() for load in reading.loads],
        facts=opening.facts,
        changes=closing.changes if closing is not None else [],
        probe=_probe_report(opening, closing, reading),
        # A crash is why; that the line broke and the load died comes of it.
        problems=_crash_problems(crashes, account) + _problems(opening, closing, reading, counts),
        samples_sha256=reading.digest.hexdigest(),
        crashes=crashes,
        recorder=reading.recorder.report() if reading.recorder is not None else None,
    )


def _crashes(directory: Path, account: ConsoleAccount | None) -> list[CrashReport]:
    """Return what the board's console said of crashes, from its boot to the end of the run."""
    console = read_console(directory) or b""
    crashes = [
        CrashReport(one.kind, one.headline, list(one.backtrace), one.line, one.fatal)
        for one in find_crashes(console.decode(errors="replace"))
    ]
    # The line at which console.log ends was searched with what came before and after.
    told = {(one.kind, one.headline) for one in crashes}
    later = account.crashes if account is not None else []
    return crashes + [one for one in later if (one.kind, one.headline) not in told]


def _crash_problems(crashes: list[CrashReport], account: ConsoleAccount | None) -> list[Problem]:
    """Return the problems that crashes are: the first is the story, what follows comes of it."""
    fatal = [one for one in crashes if one.fatal]
    problems = []
    if fatal:
        more = f" (and {len(fatal) - 1} more on its console)" if len(fatal) > 1 else ""
        text = f"the board crashed: {fatal[0].kind}: {fatal[0].headline}{more}"
        problems.append(Problem("crash", text, fatal=True))
    warnings = [one for one in crashes if not one.fatal]
    if warnings:
        text = f"the kernel complained on the console ({len(warnings)}x): {warnings[0].headline}"
        problems.append(Problem("console", text, fatal=False))
    if account is not None:
        problems.append(Problem("console", account.text[:400], fatal=False))
    return problems


def _state(closing: Closing | None, reading: _Reading) -> State:
    if closing is None:
        return "recovered"
    return closing.state if reading.whole else "cut"


def _probe_report(opening: Opening, closing: Closing | None, reading: _Reading) -> ProbeReport:
    return ProbeReport(
        version=opening.probe_version,
        arch=opening.probe_arch,
        sha256=opening.probe_sha256,
        cpu_time_ns=reading.result.cpu_time_ns if reading.result is not None else None,
        peak_memory_bytes=reading.result.peak_memory if reading.result is not None else None,
        clock_resolution_ns=opening.clock_resolution_ns,
        clock_read_ns=opening.clock_read_ns,
        frames=closing.frames if closing is not None else 0,
        frames_damaged=closing.frames_damaged if closing is not None else 0,
        frames_resent=closing.frames_resent if closing is not None else 0,
        frames_lost=closing.frames_lost if closing is not None else 0,
    )


def _problems(
    opening: Opening, closing: Closing | None, reading: _Reading, counts: FrameCounts
) -> list[Problem]:
    problems = list(opening.problems)
    if closing is not None:
        problems += closing.problems
    else:
        problems.append(
            Problem(
                "recovered",
                "the run was killed before its end: this is what it had written until then",
                fatal=True,
            )
        )
    damaged = counts.damaged + counts.oversized + counts.foreign + reading.malformed
    if damaged:
        problems.append(
            Problem("journal", f"{damaged} records of the journal were damaged", fatal=True)
        )
    if not reading.books:
        problems.append(Problem("no-start", "the workload was never started", fatal=True))
    complete = _state(closing, reading) == "complete" and not _stopped(opening.plan, reading)
    for book in reading.books.values():
        problems += book.problems()
        problems += book.departures(opening.plan, complete=complete)
    if reading.recorder is not None:
        problems += reading.recorder.problems()
    return problems + reading.notes


def _stopped(plan: Plan, reading: _Reading) -> bool:
    """Return whether the run was to end at a late activation, and did."""
    wanted = plan.recorder is not None and plan.recorder.stop_above_ns is not None
    return wanted and any(note.code == STOPPED for note in reading.notes)


def newer_schema(directory: Path, version: int) -> str:
    """Return what to say of a recording made by a later whylate."""
    return (
        f"{directory} was recorded by a newer whylate (schema {version}, this one knows "
        f"{SCHEMA_VERSION}): open it with that version, or a later one"
    )
