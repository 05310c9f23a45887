"""Whether a run may be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whylate.quantities import format_count
from whylate.recording.device_loads import load_name
from whylate.recording.manifest import CpuAccount, LoadDevice, LoadReport, Manifest
from whylate.recording.plan import LoadPlan
from whylate.recording.samples import Activations
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.summary.model import Trust


@dataclass(frozen=True)
class Assessment:
    """The trust in a run, and how far it reaches.

    late_is_late: a long latency that was seen stays a fact, although the run has no verdict:
    what is missing (lost samples, an idle load, an early end) can only have hidden more. False
    where the measuring itself was not in order, for then it may be the cause.
    """

    trust: Trust
    late_is_late: bool


def assess(manifest: Manifest, samples: Sequence[Activations]) -> Assessment:
    """Return every reason why the run must not be judged; each with what to do."""
    measuring = [*_measuring(manifest), *_accounts(manifest, samples)]
    hiding = [*_losses(manifest, samples), *_loads(manifest)]
    # A fatal problem repeats, in the words of who noticed it, what may stand here already.
    measuring += [problem.text for problem in manifest.problems if problem.fatal]
    reasons = list(dict.fromkeys(measuring + hiding))
    trust = Trust("no verdict" if reasons else "ok", reasons)
    return Assessment(trust, late_is_late=not measuring)


def assess_benchmark(manifest: Manifest, repetitions: int) -> list[str]:
    """Return why a benchmark must not be judged; none where it may."""
    reasons = [problem.text for problem in manifest.problems if problem.fatal]
    if not repetitions:
        reasons.append("Nothing was measured.")
    return list(dict.fromkeys([*reasons, *_endings(manifest), *_loads(manifest)]))


def _measuring(manifest: Manifest) -> Iterator[str]:
    if manifest.plan.target is not None:
        report = manifest.recorder
        if report is None or report.engine is None:
            why = report.refused if report is not None else None
            why = (why or "the probe gave no reason").rstrip(".")
            yield f"The recorder did not run, and only it sees a program's wakeups: {why}."
        return
    if not manifest.plan.is_scheduled:
        return
    accounts = manifest.cpus
    planned = manifest.plan.workload.priority
    if not_fifo := [account for account in accounts if account.policy != "fifo"]:
        yield (
            f"{_on(not_fifo)} the probe ran with policy {_word(not_fifo[0].policy)} instead of "
            "fifo: run it as root or grant CAP_SYS_NICE."
        )
    fifo = [account for account in accounts if account.policy == "fifo"]
    if lower := [account for account in fifo if account.priority < planned]:
        yield (
            f"{_on(lower)} the probe ran at priority {lower[0].priority} instead of {planned}: "
            "raise the limit on real-time priority (ulimit -r) or ask for a lower --priority."
        )
    if unlocked := [account for account in accounts if not account.memory_locked]:
        yield (
            f"{_on(unlocked)} the probe's memory was not locked, so page faults may count as "
            "latency: run it as root or raise the limit on locked memory (ulimit -l)."
        )


def _accounts(manifest: Manifest, samples: Sequence[Activations]) -> Iterator[str]:
    for account in manifest.cpus:
        if account.expected != account.seen + account.overrun + account.dropped:
            yield (
                f"CPU {account.cpu}: the numbers do not add up: {format_count(account.expected)} "
                f"expected, but {format_count(account.seen)} seen + "
                f"{format_count(account.overrun)} overrun + {format_count(account.dropped)} "
                "dropped; measure again."
            )
    accounts = {account.cpu: (account.seen, account.overrun) for account in manifest.cpus}
    for cpu in samples:
        if accounts.get(cpu.cpu) != (cpu.size - cpu.overruns, cpu.overruns):
            yield (
                f"CPU {cpu.cpu}: the samples do not match the manifest's counts: "
                "the recording was changed or is damaged; measure again."
            )
    planned = set(manifest.plan.measured_cpus)
    missing = sorted(planned - {cpu.cpu for cpu in samples if cpu.size})
    # A CPU on which no thread of a watched program woke is not missing.
    if manifest.plan.is_scheduled and missing and len(missing) < len(planned):
        yield f"No samples of CPU {_numbers(missing)}, which was to be measured."


def _losses(manifest: Manifest, samples: Sequence[Activations]) -> Iterator[str]:
    workload = manifest.plan.activations
    if workload is not None and not any(cpu.size for cpu in samples):
        yield _nothing(workload)
    if workload is not None and (dropped := sum(account.dropped for account in manifest.cpus)):
        expected = sum(account.expected for account in manifest.cpus)
        fewer = f" or {workload.for_fewer}" if workload.for_fewer else ""
        yield (
            f"{format_count(dropped)} of {format_count(expected)} {workload.counted} were "
            f"dropped: measure again, for a shorter time{fewer}."
        )
    yield from _endings(manifest)


def _nothing(workload: ActivationWorkload) -> str:
    """Return why nothing at all was recorded."""
    what = workload.subject
    if workload.is_scheduled:
        return "No activation was recorded: measure for longer than a few intervals."
    if workload.target is not None:
        return f"No wakeup of {what} was recorded: is it the right program, and did it run?"
    return (
        f"No execution of {what} returned: does this code run on the board, and beside which load?"
    )


def _endings(manifest: Manifest) -> list[str]:
    reasons = {
        "interrupted": "The run ended before its planned time: the rest is not known. "
        "Measure for the whole time, or plan a shorter one.",
        "cut": "The run was cut short by a failure: measure again.",
        "recovered": "The run was killed, and this was recovered from its journal: measure again.",
    }
    return [reasons[manifest.state]] if manifest.state in reasons else []


def _loads(manifest: Manifest) -> Iterator[str]:
    for load in manifest.loads:
        name = _load_name(load)
        if load.error:
            yield f"Load {name} failed: {load.error.rstrip('.')}."
        elif load.device is not None and not load.device.interrupts_per_s > 0:
            yield _without_interrupts(name, load.device)
        elif not load.during_per_s or not load.during_per_s > 0:
            yield (
                f"Load {name} did no work during the run, so the board was not loaded as planned: "
                "check that it can run on this board, or leave it out."
            )
    reported = [(load.kind, load.command) for load in manifest.loads]
    for plan in manifest.plan.loads:
        if (plan.kind, plan.command) not in reported:
            yield f"Load {_load_name(plan)} was planned and did not report any work."


def _without_interrupts(name: str, device: LoadDevice) -> str:
    if not device.lines:
        return (
            f"Load {name} reached no hardware: {device.name} has no interrupt on this board; "
            "name a host that the board reaches by a real interface, or a real disk."
        )
    return (
        f"Load {name} made no interrupt of {device.name} during the run, so the board was not "
        "loaded as planned: check that it works this way, at a higher rate if need be."
    )


def _load_name(load: LoadReport | LoadPlan) -> str:
    if load.kind == "cmd":
        return f'{load.kind} "{load.command}"'
    return load_name(load.kind, load.count, load.command)


def _on(accounts: Sequence[CpuAccount]) -> str:
    return f"On CPU {_numbers([account.cpu for account in accounts])}"


def _numbers(cpus: Sequence[int]) -> str:
    shown = ", ".join(str(cpu) for cpu in cpus[:8])
    return shown if len(cpus) <= 8 else f"{shown} and {len(cpus) - 8} more"


def _word(text: str) -> str:
    """Return a board's word shortened to what fits a sentence."""
    return f'"{text[:20]}"'
