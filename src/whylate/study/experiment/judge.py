"""Judge an experiment: the preventable share of a cause that is switched off.

All runs use the threshold of the recording. There is a share only if the time of the cause itself
fell (manipulation check) and the placebo has no share. Other causes that changed are listed
(off-target), since the share counts everything that the switch does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.causes.answer import explain_recording
from whylate.causes.population import Population
from whylate.causes.window.piece import Cause
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.stats.comparison.factorial import holm
from whylate.stats.comparison.preventable import (
    LateTime,
    PreventableShare,
    decreases,
    estimate_preventable_share,
    paired_t_p,
)
from whylate.study.experiment.plan import OFF, ON, PLACEBO, Experiment
from whylate.study.journal import whole_rounds
from whylate.study.model import FinishedRun
from whylate.study.results.evidence import ALPHA
from whylate.summary.trust import assess

Floats = NDArray[np.float64]

#: Causes of whylate itself, and time that has no cause.
_OWN = frozenset({Cause.RECORDING, Cause.UNEXPLAINED, Cause.NOT_OBSERVED})
#: Facts that the runs must share with the recording.
_SAME_FACTS = ("kernel_release", "kernel_command_line", "cpu_model", "cpus_online")
#: The least change that is listed as off-target, as a part of the excess.
_WORTH = 0.02


class Changed(msgspec.Struct, frozen=True):
    """The late time of a cause, ns per second of a run, with the cause on and off."""

    cause: str
    on_ns_per_s: float
    off_ns_per_s: float


class Share(msgspec.Struct, frozen=True):
    """A share of the late time with its 95 % interval, where there is one."""

    share: float
    low: float | None
    high: float | None


class ExperimentResult(msgspec.Struct, frozen=True):
    """The result of an experiment.

    rounds: whole rounds. preventable: None if there is no share, for the reason why_not. target:
    the time of the causes; None if none was named. fell: whether that time fell. located: their
    share of the recording's excess. off_target: other causes that changed. different_facts: facts
    in which the runs differ from the recording.
    """

    description: str
    threshold_ns: int
    rounds: int
    late_on_ns_per_s: float | None
    late_off_ns_per_s: float | None
    preventable: Share | None
    placebo: Share | None
    target: Changed | None
    fell: bool | None
    off_target: list[Changed]
    located: Share | None
    why_not: str | None
    different_facts: list[str] = []


class RunLate(msgspec.Struct, frozen=True):
    """Excess latency of a run in ns per second: the total, and by cause."""

    excess: float
    episodes: int
    causes: Mapping[Cause, float]
    why_not: str | None


def located_share(population: Population | None, targets: frozenset[Cause]) -> Share | None:
    """Return the located share of causes; with an interval if it is of a single cause."""
    if population is None or not targets:
        return None
    shares = [item for item in population.causes if item.cause in targets and item.share]
    if len(shares) == 1:
        return Share(shares[0].share, shares[0].low, shares[0].high)
    return Share(sum(item.share for item in shares), None, None)


def different_facts(recorded: Manifest, made: Manifest) -> list[str]:
    """Return the facts in which a run differs from the recording, of those that it must share."""
    ours, theirs = (
        {fact.name: fact.value for fact in manifest.facts} for manifest in (recorded, made)
    )
    return [name for name in _SAME_FACTS if ours.get(name) != theirs.get(name)]


def judge_experiment(
    directory: Path,
    asked: Experiment,
    done: Sequence[FinishedRun],
    in_recording: Share | None,
    recorded: Manifest,
) -> ExperimentResult:
    """Judge the whole rounds of an experiment; raises RecordingError."""
    plan, threshold_ns = asked.plan, asked.threshold_ns
    paths = whole_rounds(done, plan.boards[0], plan.loads[0].name, (ON, OFF, PLACEBO))
    rounds = len(paths[ON])
    seconds = asked.duration_ns / 1e9
    runs = {
        side: [_run(directory / path, threshold_ns, seconds) for path in recordings.values()]
        for side, recordings in paths.items()
    }
    first = next(iter(paths[ON].values()), None)
    other = different_facts(recorded, open_recording(directory / first).manifest) if first else []
    result = ExperimentResult(
        asked.description, threshold_ns, rounds, None, None, None, None, None, None, [],
        in_recording, None, other,
    )  # fmt: skip
    bad = [run.why_not for side in runs.values() for run in side if run.why_not]
    if bad:
        return _refused(result, f"{len(bad)} runs must not be judged: {bad[0]}")
    if rounds < plan.stop.looks[-1]:
        return _refused(
            result,
            f"{rounds} of {plan.stop.looks[-1]} rounds are made: the same command resumes",
        )
    return judged(result, runs[ON], runs[OFF], runs[PLACEBO], asked.targets)


def _run(recording: Path, threshold_ns: int, seconds: float) -> RunLate:
    opened = open_recording(recording)
    distrust = assess(opened.manifest, opened.samples).trust.reasons
    if distrust:
        return RunLate(0, 0, {}, distrust[0])
    report = opened.manifest.recorder
    if report is None or report.engine is None:
        why = report.refused if report is not None else None
        return RunLate(0, 0, {}, f"nothing was recorded: {why or 'the board gave no reason'}")
    answer = explain_recording(opened, threshold_ns=threshold_ns, worst=0)
    if answer.threshold_ns != threshold_ns:
        return RunLate(0, 0, {}, "too many activations are late to be analysed: use shorter runs")
    population = answer.population
    if population is None:
        return RunLate(0, 0, {}, None)
    # Runs may keep rows of various parts of their executions.
    excess = opened.manifest.one_in * population.excess_ns / seconds
    causes: dict[Cause, float] = defaultdict(float)
    for item in population.causes:
        causes[item.cause] += item.share * excess
    return RunLate(excess, population.episodes, causes, None)


def judged(
    result: ExperimentResult,
    on: Sequence[RunLate],
    off: Sequence[RunLate],
    placebo: Sequence[RunLate],
    targets: frozenset[Cause],
) -> ExperimentResult:
    """Return the result of runs of the three sides, paired by their rounds."""
    if not any(run.excess > 0 for run in on):
        return _refused(result, "nothing was late with it on: there is no share of it")
    sides = [_late(side) for side in (on, off, placebo)]
    share, sham = (
        estimate_preventable_share(sides[0], sides[1]),
        estimate_preventable_share(sides[0], sides[2]),
    )
    target = _changed("the cause's own time", targets, on, off) if targets else None
    own = _sums(on, targets), _sums(off, targets)
    result = msgspec.structs.replace(
        result,
        late_on_ns_per_s=float(sides[0].excess.mean()),
        late_off_ns_per_s=float(sides[1].excess.mean()),
        placebo=_share(sham),
        target=target,
        fell=decreases(*own) if targets else None,
        off_target=_off_target(on, off, targets),
    )
    if result.fell is False:
        return _refused(
            result,
            "the cause's own time did not surely fall (manipulation check): what was switched "
            "was not the cause, or more rounds would show it",
        )
    if sham.low is None or sham.high is None or share.low is None:
        return _refused(
            result,
            "the late time varies too much between runs to bound the share: make more rounds, or "
            "longer runs",
        )
    if not sham.low <= 0 <= sham.high:
        return _refused(
            result,
            "the placebo, in which nothing was switched, has a share too: the runs differ by "
            "something else",
        )
    return msgspec.structs.replace(result, preventable=_share(share))


def _refused(result: ExperimentResult, why: str) -> ExperimentResult:
    return msgspec.structs.replace(result, why_not=why)


def _share(estimate: PreventableShare) -> Share:
    return Share(estimate.share, estimate.low, estimate.high)


def _late(runs: Sequence[RunLate]) -> LateTime:
    return LateTime(
        np.array([run.excess for run in runs]),
        np.array([run.episodes for run in runs], np.int64),
    )


def _sums(runs: Sequence[RunLate], causes: frozenset[Cause]) -> Floats:
    return np.array([sum(run.causes.get(cause, 0.0) for cause in causes) for run in runs])


def _changed(
    name: str, causes: frozenset[Cause], on: Sequence[RunLate], off: Sequence[RunLate]
) -> Changed:
    return Changed(name, float(_sums(on, causes).mean()), float(_sums(off, causes).mean()))


def _off_target(
    on: Sequence[RunLate], off: Sequence[RunLate], targets: frozenset[Cause]
) -> list[Changed]:
    """Return the other causes whose late time changed, at 5 % over all of them (Holm)."""
    if not targets:
        return []
    causes = sorted({cause for run in (*on, *off) for cause in run.causes} - targets - _OWN)
    if not causes:
        return []
    p = holm(np.array([
        paired_t_p(_sums(on, frozenset({cause})), _sums(off, frozenset({cause})))
        for cause in causes
    ]))  # fmt: skip
    worth = _WORTH * float(np.mean([run.excess for run in on]))
    changes = [_changed(cause.value, frozenset({cause}), on, off) for cause in causes]
    return [
        change
        for change, p_value in zip(changes, p.tolist(), strict=True)
        if p_value <= ALPHA and abs(change.on_ns_per_s - change.off_ns_per_s) >= worth
    ]
