"""Make a recording from a journal, of a run that ended or was killed."""

from __future__ import annotations

import contextlib
import os
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from whylate.files import sync_directory, write_whole
from whylate.recording import former_schema
from whylate.recording.console.crashes import find_crashes
from whylate.recording.console.log import (
    ConsoleAccount,
    crash_reports,
    read_account,
    read_console,
)
from whylate.recording.decoder import JournalDecoder
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.manifest import (
    MANIFEST,
    SCHEMA_VERSION,
    CrashReport,
    Manifest,
    ProbeReport,
    Problem,
    State,
    ThreadName,
    newer_schema,
)
from whylate.recording.plan import RunPlan
from whylate.recording.recorder.assembler import WindowAssembler, read_names
from whylate.recording.recorder.system_calls import system_call_name
from whylate.recording.recorder.windows import windows_writer
from whylate.recording.store import journal as journal_file
from whylate.recording.store.journal import OPENING, Closing, Opening, read_batches, read_journal
from whylate.recording.store.repetitions import write_repetitions
from whylate.recording.store.samples import (
    NAME,
    NAME_OF_LONGER,
    NAME_OF_TREATED,
    SamplesWriter,
    samples_writer,
)
from whylate.recording.store.stretches import write_stretches
from whylate.recording.store.switch_traces import write_switch_traces
from whylate.recording.waits import WaitReport
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.wire.frame import FrameCounts

#: The note of a run that ended at the first activation later than its plan allows.
STOPPED = "stopped"
#: Code of the host's problem where a run ended because enough was known.
REACHED = "reached"


def finish(directory: Path) -> Manifest:
    """Make samples.parquet, or repetitions.parquet, and manifest.json of a journal, and remove it.

    Nothing is removed before all files are safely on the disk, so that it can be done again
    after any interruption. The caller holds the journal's lock. Raises RecordingError when the
    journal is not one, DiskError when the disk is full.
    """
    journal = directory / journal_file.NAME
    opening = _opening(directory)
    batches, counts = read_batches(journal)
    try:
        with contextlib.ExitStack() as files:
            decoder = _decoder(directory, opening, files)
            for batch in batches:
                decoder.add_batch(batch)
            decoder.close()
        if decoder.repetitions is not None:
            assembler = decoder.repetitions
            write_repetitions(directory, assembler.workload, assembler.repetitions())
            if (stretches := assembler.stretches()) is not None:
                write_stretches(directory, stretches)
            if (traces := assembler.switch_traces()) is not None:
                write_switch_traces(directory, traces)
        manifest = _manifest(directory, decoder, counts)
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        write_whole(directory / MANIFEST, text + b"\n")
        sync_directory(directory)
    except OSError as error:
        raise DiskError(
            f"{directory} cannot be written ({os.strerror(error.errno or 0)}): the journal in it "
            f"is kept; make room and run `whylate report {directory}`"
        ) from None
    journal.unlink()
    return manifest


def _decoder(directory: Path, opening: Opening, files: contextlib.ExitStack) -> JournalDecoder:
    """Return the decoder of a journal; files: get their names when the stack is closed."""
    plan = opening.plan
    sink, recorder = None, None
    longer = None
    if plan.activations is not None:
        sink = files.enter_context(_samples_writer(directory, plan, NAME)).rows
        if plan.activations.longer_than_ns is not None:
            longer = files.enter_context(_samples_writer(directory, plan, NAME_OF_LONGER)).rows
        elif plan.activations.experiment is not None:
            longer = files.enter_context(_samples_writer(directory, plan, NAME_OF_TREATED)).rows
    if plan.recorder is not None:
        windows = files.enter_context(windows_writer(directory))
        machine = {"armv7": "armv7l"}.get(opening.probe_arch, opening.probe_arch)
        names = read_names(directory / journal_file.NAME)
        recorder = WindowAssembler(windows, names, machine)
    return JournalDecoder(opening, sink, recorder, longer)


def _samples_writer(
    directory: Path, plan: RunPlan, name: str
) -> AbstractContextManager[SamplesWriter]:
    return samples_writer(
        directory,
        app=not plan.is_scheduled,
        parts=plan.has_parts,
        counters=plan.row_counters,
        name=name,
    )


def _opening(directory: Path) -> Opening:
    """Return the first record of a journal: what is known before the run; raises RecordingError."""
    journal = directory / journal_file.NAME
    for frame in read_journal(journal)[0]:
        if frame.kind == OPENING:
            try:
                raw = msgspec.json.decode(frame.payload)
                version = raw["schema_version"]
                if version > SCHEMA_VERSION:
                    raise RecordingError(newer_schema(directory, version))
                if version <= former_schema.FORMER_VERSION:
                    raw = former_schema.convert_opening(raw)
                return msgspec.convert(raw, type=Opening)
            except (msgspec.ValidationError, msgspec.DecodeError, *former_schema.ERRORS):
                continue
    raise RecordingError(
        f"{journal} is not a journal of whylate, or it was cut before the run began: there is "
        "nothing in it to recover"
    )


def _manifest(directory: Path, decoder: JournalDecoder, counts: FrameCounts) -> Manifest:
    opening, closing, activations = decoder.opening, decoder.closing, decoder.activations
    account = read_account(directory)
    crashes = _crashes(directory, account)
    accountings = list(activations.accountings.values()) if activations is not None else []
    return Manifest(
        format="whylate-recording",
        schema_version=SCHEMA_VERSION,
        state=_state(closing, decoder),
        created=opening.created,
        whylate=opening.whylate,
        board=opening.board,
        clock=opening.clock,
        plan=opening.plan,
        cpus=[accounting.account() for accounting in accountings],
        loads=[load.report() for load in decoder.loads],
        facts=opening.facts,
        changes=closing.changes if closing is not None else [],
        probe=_probe_report(opening, closing, decoder),
        # A crash comes first: the broken line and the dead load follow from it.
        problems=_crash_problems(crashes, account) + _problems(decoder, accountings, counts),
        samples_sha256=activations.digest.hexdigest() if activations is not None else None,
        crashes=crashes,
        recorder=decoder.recorder.report() if decoder.recorder is not None else None,
        threads=_thread_names(decoder),
        tasks=decoder.recorder.tasks() if decoder.recorder is not None else [],
        waits=_waits(decoder, opening.probe_arch),
        app_end=decoder.app_end,
        events=[events for _, events in sorted(activations.events.items())] if activations else [],
        hits=decoder.hits.reports(opening.facts),
        turns=decoder.repetitions.reports() if decoder.repetitions is not None else [],
        section=decoder.section,
    )


def _crashes(directory: Path, account: ConsoleAccount | None) -> list[CrashReport]:
    """Return the crashes on the board's console, from its boot to the end of the run."""
    console = read_console(directory) or b""
    crashes = crash_reports(find_crashes(console.decode(errors="replace")))
    # The last line of console.log was searched twice: with the text before and after it.
    known = {(crash.kind, crash.headline) for crash in crashes}
    later = account.crashes if account is not None else []
    return crashes + [crash for crash in later if (crash.kind, crash.headline) not in known]


def _crash_problems(crashes: list[CrashReport], account: ConsoleAccount | None) -> list[Problem]:
    """Return the problems that crashes are: the first fatal one is the cause of the later ones."""
    fatal = [crash for crash in crashes if crash.fatal]
    problems = []
    if fatal:
        more = f" (and {len(fatal) - 1} more on its console)" if len(fatal) > 1 else ""
        text = f"the board crashed: {fatal[0].kind}: {fatal[0].headline}{more}"
        problems.append(Problem("crash", text, fatal=True))
    warnings = [crash for crash in crashes if not crash.fatal]
    if warnings:
        text = (
            f"the kernel printed warnings on the console ({len(warnings)}x): {warnings[0].headline}"
        )
        problems.append(Problem("console", text, fatal=False))
    if account is not None:
        problems.append(Problem("console", account.text[:400], fatal=False))
    return problems


def _state(closing: Closing | None, decoder: JournalDecoder) -> State:
    if closing is None:
        return "recovered"
    return closing.state if decoder.whole else "cut"


def _probe_report(
    opening: Opening, closing: Closing | None, decoder: JournalDecoder
) -> ProbeReport:
    result = decoder.result
    counts = ("frames", "frames_damaged", "frames_resent", "frames_lost")
    return ProbeReport(
        version=opening.probe_version,
        arch=opening.probe_arch,
        sha256=opening.probe_sha256,
        cpu_time_ns=result.cpu_time_ns if result is not None else None,
        peak_memory_bytes=result.peak_memory if result is not None else None,
        clock_resolution_ns=opening.clock_resolution_ns,
        clock_read_ns=opening.clock_read_ns,
        **{name: getattr(closing, name) if closing is not None else 0 for name in counts},
    )


def _thread_names(decoder: JournalDecoder) -> list[ThreadName]:
    """Return the names of a watched program's threads, as far as they are known."""
    if decoder.activations is None:
        return []
    named = dict(decoder.activations.names)
    if decoder.recorder is not None:
        named |= decoder.recorder.process_names(decoder.activations.threads)
    return [ThreadName(pid, name) for pid, name in sorted(named.items())]


def _waits(decoder: JournalDecoder, arch: str) -> list[WaitReport]:
    """Return what a watched program's threads waited for, with names as far as they are known."""
    if decoder.activations is None or decoder.recorder is None:
        return []
    names = decoder.recorder.process_names({wait.waker for wait in decoder.activations.waits})
    return [
        msgspec.structs.replace(
            wait,
            waker_name=names.get(wait.waker),
            system_call_name=""
            if wait.system_call is None
            else system_call_name(wait.system_call, arch),
        )
        for wait in decoder.activations.waits
    ]


def _problems(
    decoder: JournalDecoder, accountings: list[CpuAccounting], counts: FrameCounts
) -> list[Problem]:
    opening, closing = decoder.opening, decoder.closing
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
    damaged = counts.damaged + counts.oversized + counts.other_protocol + decoder.malformed
    if damaged:
        problems.append(Problem("journal", _damage_text(damaged), fatal=True))
    if not decoder.started:
        problems.append(Problem("no-start", "the workload was never started", fatal=True))
    complete = (
        _state(closing, decoder) == "complete"
        and not _stopped(opening.plan, decoder)
        and not _reached(opening.plan, closing)
        and decoder.app_end is None
    )
    for accounting in accountings:
        problems += accounting.problems()
        problems += accounting.departures(opening.plan, complete=complete)
    if decoder.activations is not None:
        problems += decoder.activations.problems()
    if decoder.repetitions is not None:
        faults = decoder.repetitions.faults(complete=_state(closing, decoder) == "complete")
        problems += [
            Problem("account", f"the sample accounting does not close: {fault}", fatal=True)
            for fault in faults
        ]
    if decoder.recorder is not None:
        problems += decoder.recorder.problems()
    if decoder.app_end is not None:
        end = decoder.app_end
        how = f"by signal {end.signal}" if end.signal else f"with status {end.status}"
        text = f"the program ended by itself, {how}, and the run with it"
        problems.append(Problem("app-ended", text, fatal=False))
    return problems + decoder.notes


def _stopped(plan: RunPlan, decoder: JournalDecoder) -> bool:
    """Return whether the run was to end at a late activation, and did."""
    wanted = plan.recorder is not None and plan.recorder.stop_above_ns is not None
    return wanted and any(note.code == STOPPED for note in decoder.notes)


def _reached(plan: RunPlan, closing: Closing | None) -> bool:
    """Return whether the run was to end once enough was known, and did."""
    problems = closing.problems if closing is not None else []
    return plan.until is not None and any(problem.code == REACHED for problem in problems)


def _damage_text(damaged: int) -> str:
    """Return how many records were damaged, in a sentence."""
    if damaged == 1:
        return "1 record of the journal was damaged"
    return f"{damaged} records of the journal were damaged"
