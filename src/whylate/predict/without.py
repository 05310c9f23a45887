"""What the latencies of a run would be without a cause, or with the cause faster.

Each recorded activation has two bounds (whylate.causes.counterfactual); the others keep their
latency at the most, and are as usual at the least where the control activations allow it. A
quantile lies between that of the lower and that of the upper bounds. Its interval is one of
prediction: another run as long, without the cause, has its quantile there with 95 %. It takes the
limits of an estimate at a confidence whose normal quantile is sqrt(2) times as large, since the two
runs vary alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from whylate.causes.answer import read_activations
from whylate.causes.counterfactual import Removal, longest_spent, select_causes
from whylate.predict.removed_rows import RemovedRows, by_control, remove_rows
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.recording.samples import CpuSamples
from whylate.stats.limits import another_count
from whylate.stats.run.cpu_series import observed_s, time_blocks
from whylate.stats.run.dependence import block_count
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.extremes import estimate_extremal_index
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series
from whylate.stats.run.quantiles import estimate_quantile
from whylate.stats.tail.worst_case import ObservedRun, Rate, estimate_pooled_rate

#: Quantiles that are predicted.
QUANTILES = {"p99": Fraction(99, 100), "p99.9": Fraction(999, 1000)}
#: 2 Phi(1.96 sqrt(2)) - 1: the limits at it are those of the difference of two such runs.
PREDICTION = math.erf(1.959963984540054)
#: What an interval says of itself.
_LEVEL = 0.95
#: Of each one-sided limit of a rate.
_RATE = 1 - (1 - PREDICTION) / 2


class PredictedQuantile(msgspec.Struct, frozen=True):
    """A quantile of latency, ns, as recorded and without the cause.

    least_ns, most_ns: between what the windows cannot tell. low_ns, high_ns: the quantile of
    another run as long, with 95 %; None where there are too few activations, or no upper limit.
    recorded_is_bound: overruns hide how large the recorded figure is.
    """

    name: str
    recorded_ns: int
    recorded_is_bound: bool
    least_ns: int
    most_ns: int | None
    low_ns: int | None
    high_ns: int | None


class PredictedRate(msgspec.Struct, frozen=True):
    """Episodes above a latency: recorded, without the cause, and per second of another run."""

    above_ns: int
    recorded: int
    least: int
    most: int
    seconds: float
    low_per_s: float | None
    high_per_s: float | None


class Without(msgspec.Struct, frozen=True):
    """A forecast from one recording. causes: what was removed, or made `speed` times as fast.

    largest_ns, least_largest_ns, most_largest_ns: of these very activations. affected: recorded
    activations with the cause. unseen: activations without a window, most_unseen of which the cause
    can have delayed. control: control activations that say so.
    """

    causes: list[str]
    speed: float | None
    quantiles: list[PredictedQuantile]
    rate: PredictedRate
    largest_ns: int
    least_largest_ns: int
    most_largest_ns: int
    activations: int
    affected: int
    unseen: int
    most_unseen: int
    control: int
    left_out: int


def predict_without(
    recording: Recording, names: Sequence[str], speed: float | None = None, above_ns: int = 0
) -> Without:
    """Predict a run like a recording without causes; raises RecordingError.

    names: as select_causes() has them. speed: above 1, how many times as fast; None: removed.
    above_ns: of which latency the rate is; 0: the largest that would be left at the most.
    Raises UnknownCauseError for a name that no recorded activation has, LackingError where nothing
    was recorded.
    """
    _check(recording)
    recorded = [
        (traced.breakdown, traced.window.reason == "control")
        for traced in read_activations(recording)
    ]
    windows = by_control(recorded)
    everything = [breakdown for breakdown, _ in recorded]
    keys = {key for breakdown in everything for key in breakdown.by_cause()}
    chosen = frozenset().union(*(select_causes(name, keys) for name in names))
    removal = longest_spent(everything, Removal(chosen, speed))
    report = recording.manifest.recorder
    detached = [(s.begin_ns, s.until_ns) for s in report.detached] if report else []
    rows = remove_rows(recording.samples, windows, removal, detached)
    activations = sum(cpu.size for cpu in rows.recorded)
    if not activations:
        raise LackingError(f"{recording.directory} has no activation with the recorder attached")
    low, high = (
        merge_ordered([sort_series(cpu) for cpu in side]) for side in (rows.low, rows.high)
    )
    before = merge_ordered([sort_series(cpu) for cpu in rows.recorded])
    return Without(
        causes=sorted(f"{cause} {detail}".strip() for cause, detail in chosen),
        speed=speed,
        quantiles=[_quantile(name, q, rows, (before, low, high)) for name, q in QUANTILES.items()],
        rate=_rate(rows, low, high, above_ns or high.at_least(high.n - 1)),
        largest_ns=before.at_least(before.n - 1),
        least_largest_ns=low.at_least(low.n - 1),
        most_largest_ns=high.at_least(high.n - 1),
        activations=activations,
        affected=rows.affected,
        unseen=rows.unseen,
        most_unseen=rows.most_unseen,
        control=len(windows.control),
        left_out=sum(cpu.size for cpu in recording.samples) - activations,
    )


def _check(recording: Recording) -> None:
    manifest = recording.manifest
    if manifest.plan.activations is None or manifest.plan.has_parts:
        raise LackingError(
            f"{recording.directory} has no wakeups: whylate predict without takes recordings of "
            "whylate measure"
        )
    if manifest.recorder is None or manifest.recorder.engine is None:
        raise LackingError(
            f"{recording.directory} has no windows, which show what a cause took: measure without "
            "--no-recorder"
        )


def _quantile(
    name: str, q: Fraction, rows: RemovedRows, ordered: tuple[Ordered, Ordered, Ordered]
) -> PredictedQuantile:
    before, low, high = ordered
    index = math.ceil(q * before.n) - 1
    most = high.at_most(index)
    return PredictedQuantile(
        name=name,
        recorded_ns=before.at_least(index),
        recorded_is_bound=before.at_most(index) != before.at_least(index),
        least_ns=low.at_least(index),
        most_ns=most,
        low_ns=_limits(low, rows.low, q)[0],
        high_ns=_limits(high, rows.high, q)[1],
    )


def _limits(
    ordered: Ordered, series: Sequence[CpuSamples], q: Fraction
) -> tuple[int | None, int | None]:
    blocks = time_blocks(series, block_count(max(cpu.size for cpu in series)))
    quantile = estimate_quantile(ordered, series, blocks, q, PREDICTION)
    return quantile.low_ns, quantile.high_ns


def _rate(rows: RemovedRows, low: Ordered, high: Ordered, above_ns: int) -> PredictedRate:
    recorded, least, most = (
        sum(starts.size for starts in episode_starts(side, above_ns))
        for side in (rows.recorded, rows.low, rows.high)
    )
    seconds = observed_s(rows.recorded)
    fewest, largest = _pooled(rows.low, low, least), _pooled(rows.high, high, most)
    return PredictedRate(
        above_ns=above_ns,
        recorded=recorded,
        least=least,
        most=most,
        seconds=seconds,
        low_per_s=min(fewest.low_per_s, _another(least)[0] / seconds) if fewest else None,
        high_per_s=max(largest.high_per_s, _another(most)[1] / seconds) if largest else None,
    )


def _another(episodes: int) -> tuple[int, int]:
    """Return how many episodes another run as long has: few have no normal distribution."""
    return another_count(episodes, _LEVEL)


def _pooled(series: Sequence[CpuSamples], ordered: Ordered, episodes: int) -> Rate | None:
    index = estimate_extremal_index(ordered, series, "episodes")
    seconds = observed_s(series)
    if index is None or not seconds:
        return None
    return estimate_pooled_rate([ObservedRun(episodes, seconds, index.cautious)], _RATE)
