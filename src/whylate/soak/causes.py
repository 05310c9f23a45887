"""Why a cycle failed: crashes of the kernel and of programs, and jobs that failed."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

import msgspec

from whylate.recording.console.crashes import Crash
from whylate.recording.console.program_crashes import program_crash
from whylate.recording.manifest import AppEnd
from whylate.soak.failure_kinds import FailureKind
from whylate.soak.model import Cause, Outcome

#: Failures that say more than the crash of a program: the board is gone, or was never there.
_BEFORE_PROGRAMS: tuple[Outcome, ...] = (
    "no-power",
    "flash-failed",
    "no-boot",
    "reboot-failed",
    "no-probe",
    "hung",
)
#: Signals by which a program crashes; by others somebody ends it.
_CRASHING = (
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
    signal.SIGSYS,
)


def crash_causes(shown: Sequence[Crash], logged: Sequence[Crash]) -> list[Cause]:
    """Return the crashes of the kernel and of programs, each kind of crash once.

    shown: on the console. logged: in the kernel's log. What is in both counts once; warnings are
    no crashes. Where either has more than is kept, the count is the least that they can be.
    """
    known = {(crash.kind, crash.headline) for crash in shown}
    fresh = [crash for crash in logged if (crash.kind, crash.headline) not in known]
    least = _counts(shown), _counts(logged)
    causes = []
    for cause in _merged([*shown, *fresh]):
        key = cause.kind, cause.what
        counts = [of_one.get(key, (0, False)) for of_one in least]
        causes.append(
            msgspec.structs.replace(
                cause,
                count=max(cause.count, *(count for count, _ in counts)),
                at_least=any(cut for _, cut in counts),
            )
        )
    return causes


def job_causes(job: AppEnd | None) -> list[Cause]:
    """Return how a job failed; none where it ended with status 0, or there was none."""
    if job is None or not (job.status or job.signal):
        return []
    if not job.signal:
        what = f"status {job.status}"
        return [Cause("job-failed", what, f"it ended with {what}")]
    what = f"signal {job.signal}{_signal_name(job.signal)}"
    kind: FailureKind = "program-crashed" if job.signal in _CRASHING else "job-failed"
    return [Cause(kind, what, f"it was ended by {what}")]


def worst(failure: tuple[Outcome, str] | None, causes: Sequence[Cause]) -> tuple[Outcome, str]:
    """Return the outcome of a cycle: a crash of the kernel first, that of a program before others.

    failure: of the cycle's stages; None: none failed.
    """
    for kind in ("crashed", "program-crashed"):
        if kind == "program-crashed" and failure is not None and failure[0] in _BEFORE_PROGRAMS:
            break
        cause = next((cause for cause in causes if cause.kind == kind), None)
        if cause is not None:
            return cause.kind, cause.why
    return failure if failure is not None else ("ok", "")


def _crash_cause(crash: Crash) -> Cause | None:
    program = program_crash(crash.kind, crash.headline)
    kind: FailureKind = "program-crashed"
    if crash.fatal:
        kind = "crashed"
    elif program is None:
        return None
    return Cause(kind, program or crash.kind, crash.headline)


def _merged(crashes: Iterable[Crash]) -> list[Cause]:
    """Return each kind of cause once, with its count and its first report."""
    merged: dict[tuple[FailureKind, str], Cause] = {}
    for cause in filter(None, map(_crash_cause, crashes)):
        key = cause.kind, cause.what
        first = merged.get(key)
        merged[key] = (
            cause if first is None else msgspec.structs.replace(first, count=first.count + 1)
        )
    return list(merged.values())


def _counts(crashes: Iterable[Crash]) -> dict[tuple[FailureKind, str], tuple[int, bool]]:
    """Return how many crashes one log shows of each cause, and whether some were not kept."""
    counts: dict[tuple[FailureKind, str], tuple[int, bool]] = {}
    for crash in crashes:
        cause = _crash_cause(crash)
        if cause is not None:
            count, cut = counts.get((cause.kind, cause.what), (0, False))
            counts[cause.kind, cause.what] = count + 1 + crash.more, cut or crash.more > 0
    return counts


def _signal_name(number: int) -> str:
    """Return " (SIGSEGV)"; "" for a number without a name, as of real-time signals."""
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
