"""From one recording that has trials to its summary."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.quantities import format_short_ns
from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import Repetitions
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.point_names import common_text, point_names
from whylate.summary.cautions import COARSE_NS, firmware, guest, noticed
from whylate.summary.model import Caution, Trust
from whylate.summary.networks import networks
from whylate.summary.summarize import fact_text
from whylate.summary.trial_figures import figures_of
from whylate.summary.trial_findings import Machine, findings
from whylate.summary.trial_model import NetworkFigures, PointFigures, TrialsSummary
from whylate.summary.trust import assess_trials

#: Rounds with which an interval can be given.
FEWEST_ROUNDS = 6
INTERVAL_NOTE = "95 %, of the median over rounds, conditional on this run (this boot)"


def summarize_trials(
    manifest: Manifest,
    rows: Repetitions,
    recording_name: str,
    predict: Sequence[int] = (),
) -> TrialsSummary:
    """Compute everything that is printed of a recording that has trials.

    predict: numbers of threads for which the throughput of a clock is predicted. Raises ValueError
    for a recording of another workload.
    """
    plan = manifest.plan.benchmark
    if plan is None:
        raise ValueError("a recording that has no trials")
    points = _points(plan, manifest, rows)
    measured = {at for at, one in enumerate(points) if not one.refused}
    fitted = networks(
        [one if at in measured else None for at, one in enumerate(plan.points)],
        rows,
        predict,
        cpus=len(manifest.plan.measured_cpus),
        host_cpus=manifest.plan.host_cpus,
    )
    return TrialsSummary(
        recording=recording_name,
        board=manifest.board,
        state=manifest.state,
        created=manifest.created,
        kernel=fact_text(manifest, "kernel_release"),
        cpu_model=fact_text(manifest, "cpu_model"),
        workload=plan.kind,
        common=common_text(plan.points),
        rounds=plan.rounds,
        repetitions=plan.repetitions,
        trust=_trust(manifest, rows, points),
        points=points,
        networks=fitted,
        findings=findings(points, fitted, _machine(manifest)),
        loads=list(manifest.loads),
        warnings=[
            *_warnings(points),
            *_unpredicted(predict, fitted),
            *guest(manifest),
            *firmware(manifest),
            *_coarse(manifest),
            *noticed(manifest),
        ],
        interval_note=INTERVAL_NOTE,
        clock_source=_clock_source(manifest),
        virtual_time=manifest.plan.virtual_time,
    )


def _points(plan: BenchmarkWorkload, manifest: Manifest, rows: Repetitions) -> list[PointFigures]:
    found = []
    for at, (name, point) in enumerate(zip(point_names(plan.points), plan.points, strict=True)):
        own = rows.where(rows.column("point") == at)
        reports = [one for one in manifest.turns if plan.order[one.turn] == at]
        found.append(figures_of(name, point, own, reports))
    return found


def _trust(manifest: Manifest, rows: Repetitions, points: Sequence[PointFigures]) -> Trust:
    reasons = assess_trials(manifest, rows.n)
    reasons += [f"{one.name}: {one.refused}." for one in points if one.refused and rows.n]
    return Trust("no verdict" if reasons else "ok", list(dict.fromkeys(reasons)))


def _machine(manifest: Manifest) -> Machine:
    facts = {one.name: one.value for one in manifest.facts}
    entries, features = facts.get("asid_entries"), facts.get("cpu_features")
    return Machine(
        fact_text(manifest, "machine"),
        _clock_source(manifest),
        asid_entries=entries if isinstance(entries, int) else None,
        pcid="pcid" in features if isinstance(features, list | tuple) and features else None,
    )


def _clock_source(manifest: Manifest) -> str | None:
    """Return the kernel's clock source in the run: facts are read before settings are applied."""
    for one in reversed(manifest.plan.settings):
        if one.path.endswith("/current_clocksource"):
            return one.value
    return fact_text(manifest, "clock_source")


def _warnings(points: Sequence[PointFigures]) -> list[Caution]:
    found = []
    measured = [one for one in points if not one.refused]
    fewest = min((one.rounds for one in measured), default=FEWEST_ROUNDS)
    if fewest < FEWEST_ROUNDS:
        many = f"{fewest} rounds are" if fewest > 1 else "1 round is"
        found.append(
            Caution(
                "few-rounds",
                f"{many} too few for an interval: --rounds {FEWEST_ROUNDS} is the least",
            )
        )
    idle = [one for one in measured if one.facts.get("rows_without_a_call")]
    if idle:
        found.append(
            Caution(
                "no-call",
                f"{idle[0].name}: {idle[0].facts['rows_without_a_call']} times a thread came to no "
                "call, for others had the CPUs: a longer --block, or fewer threads",
            )
        )
    return found


def _unpredicted(predict: Sequence[int], fitted: Sequence[NetworkFigures]) -> list[Caution]:
    if not predict or any(one.predicted for one in fitted):
        return []
    why = (
        "all of these were measured"
        if fitted
        else "a network is fitted to two numbers of threads and more that can run at once"
    )
    return [Caution("no-prediction", f"--predict: nothing is predicted, for {why}")]


def _coarse(manifest: Manifest) -> list[Caution]:
    resolution_ns = manifest.probe.clock_resolution_ns
    if resolution_ns is None or resolution_ns <= COARSE_NS:
        return []
    return [
        Caution(
            "coarse-clock",
            f"The clock's resolution is {format_short_ns(resolution_ns)}: what takes hardly "
            "longer is not "
            "measured.",
        )
    ]
