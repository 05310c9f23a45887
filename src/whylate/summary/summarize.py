"""From one recording to its summary."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations
from whylate.recording.store.executions import ExecutionFile
from whylate.stats.run.drift import trend_tests
from whylate.stats.run.extremes import estimate_extremal_index, no_exceedance
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.summary.attached import attached_only
from whylate.summary.cautions import cautions
from whylate.summary.facts import describe_recording
from whylate.summary.figures import exceedance, figures, slowest_threads, thread_count
from whylate.summary.model import EventFigures, Summary
from whylate.summary.observer import observer_cautions, observer_effect
from whylate.summary.requirements import parse_requirement
from whylate.summary.sections import section_cautions, section_figures, without_all_rows
from whylate.summary.stages import stage_figures
from whylate.summary.switching import switching_cautions
from whylate.summary.trust import assess
from whylate.summary.verdicts import Evidence, judge
from whylate.summary.waits import wait_figures, wakeups_without_wait

INTERVAL_NOTE = "95 %, conditional on this run (this boot, this placement)"


def summarize(
    samples: Sequence[Activations],
    manifest: Manifest,
    recording_name: str,
    requirements: Sequence[str] = (),
    executions: ExecutionFile | None = None,
) -> Summary:
    """Compute everything that is printed of one recording.

    samples: one entry a CPU, in any order; none at all is allowed. executions: of a section. Every
    figure is given or refused with a reason; a run that may not be judged is summarised all the
    same, and has no trust. Raises RequirementError for an invalid requirement.
    """
    demands = [parse_requirement(text) for text in requirements]
    workload = manifest.plan.activations
    if workload is None:
        raise ValueError("the recording has no activations")
    counted = workload.counted
    series = sorted(samples, key=lambda cpu: cpu.cpu)
    stages = stage_figures(attached_only(manifest, series))
    ordered = [sort_series(cpu) for cpu in series]
    of_cpu = {cpu.cpu: number for number, cpu in enumerate(series)}
    per_cpu = []
    for cpu in sorted({*of_cpu, *(account.cpu for account in manifest.cpus)}):
        own = [of_cpu[cpu]] if cpu in of_cpu else []
        per_cpu.append(
            figures(
                [account for account in manifest.cpus if account.cpu == cpu],
                [series[number] for number in own],
                merge_ordered([ordered[number] for number in own]),
                cpu,
                stages.get(cpu, {}),
                counted,
            )
        )
    everything = merge_ordered(ordered)
    together = figures(manifest.cpus, series, everything, None, stages.get(None, {}), counted)
    of_episodes = estimate_extremal_index(everything, series, "episodes")
    unseen = no_exceedance(
        everything, series, estimate_extremal_index(everything, series), of_episodes
    )
    assessment = assess(manifest, series)
    until = manifest.plan.until
    evidence = Evidence(
        together,
        series,
        of_episodes,
        assessment,
        until.limit_ns if until is not None else None,
        manifest.has_all_rows,
        counted,
    )
    end_ns = max((account.end_ns for account in manifest.cpus), default=0)
    moved = trend_tests(everything, series)
    observer = observer_effect(manifest, series)
    section = section_figures(manifest, executions, together.latency_ns["p50"].value, series)
    return Summary(
        **describe_recording(manifest, recording_name),
        interval_ns=workload.interval_ns,
        priority=workload.priority,
        planned_ns=workload.duration_ns,
        elapsed_ns=max(0, end_ns - manifest.start_ns),
        trust=assessment.trust,
        together=together,
        per_cpu=per_cpu,
        exceedance=without_all_rows(section) or exceedance(unseen, counted),
        warnings=[
            *cautions(manifest, moved, [cpu.cpu for cpu in series]),
            *observer_cautions(observer),
            *section_cautions(section),
            *switching_cautions(manifest, series, everything, together),
        ],
        requirements=[judge(demand, evidence) for demand in demands],
        interval_note=INTERVAL_NOTE,
        samples_sha256=manifest.samples_sha256,
        seed=manifest.plan.seed,
        phase_ns=workload.phase_ns,
        crashes=list(manifest.crashes),
        causes=list(manifest.plan.faults),
        app=manifest.plan.target,
        threads=thread_count(series),
        events=_events(manifest),
        per_thread=slowest_threads(manifest, series, counted),
        waits=wait_figures(manifest),
        wakeups_without_wait=wakeups_without_wait(manifest),
        observer=observer,
        section=section,
        counted=counted,
        quantity=workload.quantity,
        subject=workload.subject,
    )


def _events(manifest: Manifest) -> list[EventFigures]:
    seen = sum(account.seen for account in manifest.cpus)
    names = list(dict.fromkeys(name for counter in manifest.events for name in counter.counts))
    figures = []
    for name in names if seen else []:
        per_cpu = {
            counter.cpu: counter.counts[name]
            for counter in manifest.events
            if name in counter.counts
        }
        figures.append(EventFigures(name, sum(per_cpu.values()) / seen, per_cpu))
    return figures
