"""The sentences that the terminal and the page share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whylate.quantities import format_count, format_ns, format_seconds, format_span_ns
from whylate.recording.hits import parse_fact_line
from whylate.recording.manifest import HitReport
from whylate.recording.plan import FaultPlan
from whylate.recording.treatments import ARMING
from whylate.summary import quantiles
from whylate.summary.model import (
    AddedFigure,
    Estimate,
    Figures,
    ObserverEffect,
    SectionFigures,
    Summary,
    ThreadFigures,
)
from whylate.text import plain

#: Hooks that are not called by their names.
_HOOKS = {
    "kprobe session": "a kprobe session",
    "kprobe multi": "fprobes (kprobe multi)",
    "kprobe event": "kprobe events (tracefs)",
    "trace event": "trace events (tracefs)",
}
#: The columns of every table of quantiles, in order.
QUANTILES = (*quantiles.QUANTILES, "max")


def accounting(summary: Summary) -> str:
    """Account for every expected activation; ≠ where the numbers do not add up."""
    expected = format_count(summary.together.expected)
    return f"{expected} {accounting_noun(summary)} {accounting_sum(summary)}"


def accounting_noun(summary: Summary) -> str:
    """Name what is counted: a program has wakeups, but no schedule of expected ones."""
    section = summary.section
    if section is not None and section.experiment is not None:
        if section.experiment.treatment in ARMING:
            after = "flush" if section.experiment.treatment == "flush" else "walk"
            return f"of the placebo, each the first after a {after}"
        return f"of the placebo, of 1 in {format_count(section.one_in)} executions"
    if summary.section is not None and summary.section.one_in > 1:
        return f"of 1 in {format_count(summary.section.one_in)} executions"
    if summary.scheduled:
        return "expected"
    return summary.counted if summary.section is not None else "wakeups"


def accounting_sum(summary: Summary) -> str:
    """Return the sum that accounts for all activations, with its sign."""
    figures = summary.together
    adds_up = figures.expected == figures.seen + figures.overrun + figures.dropped
    parts = [f"{format_count(figures.seen)} seen", f"{format_count(figures.overrun)} overrun",
             f"{format_count(figures.dropped)} dropped"]  # fmt: skip
    if not summary.scheduled and not figures.overrun:
        del parts[1]
    return f"{'=' if adds_up else '≠'} {' + '.join(parts)}"


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
    # Every run ends a little early or late; less than 1 % is not reported.
    short = summary.elapsed_ns < 0.99 * summary.planned_ns
    time = f"{elapsed} of {planned} planned" if short else planned
    if not summary.scheduled:
        what = summary.counted if summary.section is not None else "wakeups"
        return f"{what} of {summary.subject}, {time}"
    cpus = len(summary.per_cpu)
    where = f"on {cpus} CPUs" if cpus != 1 else f"on CPU {summary.per_cpu[0].cpu}"
    how = (
        f"at priority {summary.priority}" if summary.priority > 0 else "without real-time priority"
    )
    interval = format_span_ns(summary.interval_ns)
    return f"{plain(summary.workload, 40)} every {interval} {where} {how}, {time}"


def event_lines(summary: Summary) -> list[str]:
    """Return what was counted per activation of the measuring threads."""
    counts = ", ".join(
        f"{plain(event.name, 60)} {format_count(round(event.per_activation))}"
        for event in summary.events
    )
    return [f"counted per activation: {counts}"] if counts else []


def section_lines(summary: Summary) -> list[str]:
    """Account for every entry into a section, and name what timed it; of others nothing."""
    section = summary.section
    if section is None:
        return []
    lines = [f"timed by {_HOOKS.get(section.hook, plain(section.hook, 20))}{_floor(section)}"]
    account = section.account
    if account is not None:
        parts = [f"{format_count(account.returned)} returned"]
        parts += [
            f"{format_count(count)} {what}"
            for count, what in (
                (account.in_flight, "in flight at the end"),
                (account.left, "left without a return"),
                (account.too_deep, "nested too deep"),
                (account.no_room, "without room"),
            )
            if count
        ]
        sign = "=" if account.closes else "≠"
        lines.insert(0, f"{format_count(account.entries)} entries {sign} {' + '.join(parts)}")
    return lines


def _floor(section: SectionFigures) -> str:
    """Say how long an empty section takes by that hook, and what it adds to its callers."""
    before, after = section.floor_before, section.floor_after
    if before is None:
        return ""
    if before.why:
        return f"; how long an empty section takes is not known: {plain(before.why, 300)}"
    text = f", by which an empty section takes {format_ns(before.floor_ns)}"
    if section.hook == "uprobe":
        text += " at instructions that do nothing, and others as long or longer"
    if after is not None and not after.why:
        text += f" (after the run {format_ns(after.floor_ns)})"
    text += ": that is in every duration"
    if before.without_ns:
        added = before.with_ns - before.without_ns
        text += f"; a call takes {format_ns(added)} longer with the hooks"
    return text


def observer_lines(summary: Summary) -> list[str]:
    """Say what the recorder adds to latencies, and how that was measured."""
    effect = summary.observer
    if effect is None:
        return []
    if effect.reason is not None:
        return [f"what the recorder adds is not known: {plain(effect.reason, 300)}"]
    added = " and ".join(map(added_text, effect.added))
    every = format_span_ns(effect.block_ns * effect.every)
    text = (
        f"the recorder adds {added}: it was detached in {format_span_ns(effect.block_ns)} of "
        f"every {every}; {left_out_text(effect)}"
    )
    return [text]


def left_out_text(effect: ObserverEffect) -> str:
    """Return which activations are not compared, and how many."""
    return (
        f"{format_count(effect.left_out)} activations near the {effect.switches} switches, or in "
        "a group without both, are not compared"
    )


def added_text(figure: AddedFigure) -> str:
    """Return what is added to a quantile: "310 ns (200 ns to 420 ns; × 1.07, 1.04–1.09) to p50"."""
    low, high = format_ns(figure.low_ns), format_ns(figure.high_ns)
    return (
        f"{format_ns(figure.added_ns)} ({low} to {high}; × {figure.ratio:.3f}, "
        f"{figure.ratio_low:.3f}–{figure.ratio_high:.3f}) to {plain(figure.name, 20)}"
    )


def hit_text(hit: HitReport) -> str:
    """Return how often a hit came: "6,813 hits (kprobe)"; of a line of the facts "yes" or "no"."""
    if hit.count is None:
        return f"not known: {plain(hit.why, 300)}"
    if parse_fact_line(hit.name) is not None:
        return f"{'yes' if hit.count else 'no'} ({plain(hit.how, 200)})"
    reason = plain(hit.why or hit.how, 300)
    text = "1 hit" if hit.count == 1 else f"{format_count(hit.count)} hits"
    return f"{text} ({reason})" if reason else text


def hit_lines(hits: Sequence[HitReport]) -> list[str]:
    """Return a line for each hit that was asked for."""
    return [f"{plain(hit.name, 300)}: {hit_text(hit)}" for hit in hits]


def unseen_bound(summary: Summary) -> str:
    """Bound how often a latency above the largest one comes, or a longer duration."""
    exceedance = summary.exceedance
    if exceedance.above_ns is None or exceedance.once_in_s is None:
        reason = plain(exceedance.reason or "the run is too short", 300)
        return f"No bound above the largest {summary.quantity}: {reason}."
    longer = "stalls" if summary.quantity == "latency" else summary.counted
    text = (
        f"Nothing above {format_ns(exceedance.above_ns)} was seen. With 95 % confidence, longer "
        f"{longer} come less often than once in {format_seconds(exceedance.once_in_s)}"
    )
    if exceedance.fraction is not None and exceedance.fraction < 1:
        one_in = format_count(int(1 / exceedance.fraction))
        text += (
            f" and delay fewer than 1 activation in {one_in}"
            if summary.quantity == "latency"
            else f" and are fewer than 1 in {one_in}"
        )
    return f"{text}."


def unseen_bound_basis(summary: Summary) -> str | None:
    """Return what `unseen_bound` rests on: effective samples and extremal index."""
    exceedance = summary.exceedance
    if exceedance.effective_n is None or exceedance.above_ns is None:
        return None
    text = f"{format_count(round(exceedance.effective_n))} effective samples"
    if exceedance.extremal_index is not None:
        text += f" (extremal index {exceedance.extremal_index:.2g})"
    late = "late activations" if summary.quantity == "latency" else f"long {summary.counted}"
    share = "activations" if summary.quantity == "latency" else summary.counted
    return (
        f"The share of {share} is below 3 in {text}: "
        f"{late} come in clusters, and a cluster counts once."
    )


def estimate_text(estimate: Estimate | None) -> str:
    """Write the point of an estimate: "412 µs", "≥ 31.2 ms", or "–" where it was refused."""
    if estimate is None or estimate.value is None:
        return "–"
    return f"{'≥ ' if estimate.at_least else ''}{format_ns(estimate.value)}"


def attached_text(summary: Summary) -> str:
    """Return of which activations the stages are, where the recorder was detached for a while."""
    stages = summary.together.stages.values()
    if summary.observer is None or not summary.observer.switches or not stages:
        return ""
    recorded = max(stage.seen + stage.not_seen for stage in stages)
    return (
        f"stages are of the {format_count(recorded)} activations that were due while the recorder "
        "was attached; the largest latency may be of another"
    )


def stage_lines(summary: Summary) -> list[str]:
    """Define the stages, and say which activations have none, and how many lack them."""
    figures = summary.together
    if not figures.stages:
        return []
    lines = ["interrupt latency: from due to the interrupt; thread latency: to having the CPU"]
    attached = attached_text(summary)
    if attached:
        lines.append(attached)
    missing = [
        f"{name} latency of {format_count(stage.not_seen)}"
        for name, stage in figures.stages.items()
        if stage.not_seen
    ]
    if missing:
        overruns = ", overruns among them" if figures.overrun else ""
        lines.append(f"not seen: {', '.join(missing)}{overruns}; their lower bound is 0")
    return lines


def worst_first(rows: list[Figures]) -> list[Figures]:
    """Order CPUs by their worst latency, the worst first; CPUs without one come last."""

    def key(row: Figures) -> tuple[float, int]:
        worst = row.latency_ns.get("max")
        longest = math.inf if worst is None or worst.value is None else -worst.value
        return longest, -1 if row.cpu is None else row.cpu

    return sorted(rows, key=key)


def injected_fault(fault: FaultPlan) -> str:
    """Return the text that names an injected fault: "injected fault irqs-off size_us=300"."""
    words = [plain(f"{key}={value}", 60) for key, value in fault.parameters.items()]
    return " ".join(["injected fault", plain(fault.name, 40), *words])


def virtual_time(summary: Summary) -> str:
    """Describe a run in virtual time, with the digest that identifies its samples.

    "virtual time (repeatable, no measure of hardware): seed 7, phase 0 ns, samples ab51139a…".
    """
    digest = (summary.samples_sha256 or "")[:16]
    return (
        f"virtual time (repeatable, no measure of hardware): seed {summary.seed}, "
        f"phase {format_ns(summary.phase_ns)}, samples {digest}"
    )
