"""The sentences that terminal and report have in common."""

from __future__ import annotations

import shlex

from whylate.quantities import format_count, format_ns, format_seconds, format_span_ns
from whylate.recording.plan import FaultPlan
from whylate.recording.workloads.app import Target
from whylate.summary import ladder
from whylate.summary.model import Estimate, Exceedance, Figures, Summary, ThreadFigures
from whylate.text import plain

#: The columns of every table of quantiles, in order.
QUANTILES = (*ladder.QUANTILES, "max")
#: Of the stages of whylate.summary.stages, as short as their column is.
STAGE_NAMES = {"interrupt": "irq", "thread": "thread"}


def account(summary: Summary) -> str:
    """Say where every expected activation went; ≠ where the numbers do not add up."""
    expected = format_count(summary.together.expected)
    return f"{expected} {account_noun(summary)} {account_sum(summary)}"


def account_noun(summary: Summary) -> str:
    """Say what is accounted for: no schedule says how often a program should wake."""
    return "expected" if summary.app is None else "wakeups"


def account_sum(summary: Summary) -> str:
    """Write the right-hand side of the account, with its sign."""
    figures = summary.together
    adds_up = figures.expected == figures.seen + figures.overrun + figures.dropped
    parts = [f"{format_count(figures.seen)} seen", f"{format_count(figures.overrun)} overrun",
             f"{format_count(figures.dropped)} dropped"]  # fmt: skip
    if summary.app is not None and not figures.overrun:
        del parts[1]
    return f"{'=' if adds_up else '≠'} {' + '.join(parts)}"


def watched(app: Target) -> str:
    """Say which program was watched: "threads named jackd", "process 312", "./control --fast"."""
    if app.comm is not None:
        return f"threads named {plain(app.comm, 40)}"
    if app.pid is not None:
        return f"process {app.pid}"
    return plain(shlex.join(app.argv or []), 80)


def thread_label(thread: ThreadFigures) -> str:
    """Name a thread: "jackd/312"."""
    return f"{plain(thread.name, 40)}/{thread.pid}" if thread.name else f"pid {thread.pid}"


def threads_shown(summary: Summary, shown: int) -> str:
    """Say how many threads woke: "the slowest 4 of 12 threads"; empty where all are shown."""
    if shown >= summary.threads:
        return ""
    return f"the slowest {shown} of {format_count(summary.threads)} threads"


def workload(summary: Summary) -> str:
    """Say what was timed: workload, interval, CPUs, priority, time; or which program."""
    elapsed, planned = format_span_ns(summary.elapsed_ns), format_span_ns(summary.planned_ns)
    # A run is late by its last wakeup and more; less than 1 % is not worth a word.
    short = summary.elapsed_ns < 0.99 * summary.planned_ns
    time = f"{elapsed} of {planned} planned" if short else planned
    if summary.app is not None:
        return f"wakeups of {watched(summary.app)}, {time}"
    cpus = len(summary.per_cpu)
    where = f"on {cpus} CPUs" if cpus != 1 else f"on CPU {summary.per_cpu[0].cpu}"
    how = (
        f"at priority {summary.priority}" if summary.priority > 0 else "without real-time priority"
    )
    interval = format_span_ns(summary.interval_ns)
    return f"{plain(summary.workload, 40)} every {interval} {where} {how}, {time}"


def events_said(summary: Summary) -> list[str]:
    """Say what was counted of the measuring threads, an activation; nothing where nothing was."""
    counts = ", ".join(
        f"{plain(event.name, 60)} {format_count(round(event.per_activation))}"
        for event in summary.events
    )
    return [f"counted an activation: {counts}"] if counts else []


def not_seen(exceedance: Exceedance) -> str:
    """Say what the run allows to say about what it did not see."""
    if exceedance.above_ns is None or exceedance.once_in_s is None:
        reason = plain(exceedance.reason or "the run holds too little to say so", 300)
        return f"No bound for what was not seen: {reason}."
    return (
        f"Nothing above {format_ns(exceedance.above_ns)} was seen. With 95 % confidence: a stall "
        f"that long less often than once in {format_seconds(exceedance.once_in_s)}"
        f"{_fraction(exceedance)}."
    )


def _fraction(exceedance: Exceedance) -> str:
    if exceedance.fraction is None or exceedance.fraction >= 1:
        return ""
    one_in = format_count(int(1 / exceedance.fraction))
    return f", fewer than 1 activation in {one_in} that late"


def behind_not_seen(exceedance: Exceedance) -> str | None:
    """Say what the bound of `not_seen` rests on: effective samples and extremal index."""
    if exceedance.effective_n is None or exceedance.above_ns is None:
        return None
    text = f"{format_count(round(exceedance.effective_n))} effective samples"
    if exceedance.extremal_index is not None:
        text += f" (extremal index {exceedance.extremal_index:.2g})"
    return (
        f"The share of activations is below 3 in {text}: "
        "late activations come in clusters, and a cluster counts once."
    )


def value(estimate: Estimate | None) -> str:
    """Write the point of an estimate: "412 µs", "≥ 31.2 ms", or "–" where it was refused."""
    if estimate is None or estimate.value is None:
        return "–"
    return f"{'≥ ' if estimate.at_least else ''}{format_ns(estimate.value)}"


def stages_said(figures: Figures) -> list[str]:
    """Say what interrupt and thread latency are, and how many of them nobody saw."""
    if not figures.stages:
        return []
    lines = ["irq: from due to its interrupt; thread: to having the CPU; all: to running"]
    lacking = [
        f"{STAGE_NAMES[name]} of {format_count(stage.not_seen)}"
        for name, stage in figures.stages.items()
        if stage.not_seen
    ]
    if lacking:
        overruns = ", overruns among them" if figures.overrun else ""
        lines.append(f"not seen: {', '.join(lacking)}{overruns}; ≥ takes those as 0")
    return lines


def worst_first(rows: list[Figures]) -> list[Figures]:
    """Order CPUs by their worst latency, the worst first; CPUs without one come last."""

    def key(row: Figures) -> tuple[bool, int, int]:
        worst = row.latency_ns.get("max")
        known = worst is not None and worst.value is not None
        return (
            not known,
            -(worst.value or 0) if worst else 0,
            row.cpu if row.cpu is not None else -1,
        )

    return sorted(rows, key=key)


def injected_fault(fault: FaultPlan) -> str:
    """Return the text that names an injected fault: "injected fault irqs-off size_us=300"."""
    words = [plain(f"{key}={value}", 60) for key, value in fault.parameters.items()]
    return " ".join(["injected fault", plain(fault.name, 40), *words])


def virtual_time(summary: Summary) -> str:
    """Say what the clock of a virtual board's run was, and the digest by which runs are told apart.

    "virtual time (repeatable, no measure of hardware): seed 7, phase 0 ns, samples ab51139a…".
    """
    digest = (summary.samples_sha256 or "")[:16]
    return (
        f"virtual time (repeatable, no measure of hardware): seed {summary.seed}, "
        f"phase {format_ns(summary.phase_ns)}, samples {digest}"
    )
