"""Forecasts of latencies without a cause, and what later runs measured of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whylate import __version__
from whylate.predict.forecast import Forecast
from whylate.predict.without import QUANTILES, PredictedQuantile, Without
from whylate.predict.workloads.wakeup import condition_of, plan_without
from whylate.recording.moments import now_text
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording
from whylate.stats.run.cpu_series import observed_s
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.ordered import merge_ordered, sort_series

MODEL = "a cause removed"
SERIES = "wakeup latency"
AXIS = "CPUs"
#: Of quantities: episodes a second above so many ns.
_RATE = "episodes_per_s_above_ns_"
_SUPPOSES = (
    "what ran behind the cause would have run anyway, or would have been done by then; what the "
    "cause does beside its own time stays as it is"
)


def change_text(causes: list[str], speed: float | None) -> str:
    """Return the change that a forecast is about."""
    how = "without" if speed is None else f"{speed:g} times as fast:"
    return f"{how} {', '.join(causes)}"


def removal_forecasts(
    recording: Recording, without: Without, remains: RunPlan | None = None
) -> list[Forecast]:
    """Return a forecast for each quantile that has a limit, and of the rate above a latency.

    remains: the plan of the runs that try it; None: the recorded one without the injected faults
    that make these causes. Where there are none of these, only an experiment tries it.
    """
    plan = recording.manifest.plan
    if remains is None and without.speed is None:
        remains = plan_without(plan, without.causes)
    expected: list[tuple[str, float, float, float | None]] = [
        (_quantity(quantile.name), _middle(quantile), quantile.low_ns or 0, quantile.high_ns)
        for quantile in without.quantiles
        if quantile.low_ns is not None or quantile.high_ns is not None
    ]
    rate = without.rate
    if rate.high_per_s is not None and rate.seconds:
        low = rate.low_per_s or 0.0
        middle = (rate.least + rate.most) / 2 / rate.seconds
        expected.append((f"{_RATE}{rate.above_ns}", min(max(middle, low), rate.high_per_s),
                         low, rate.high_per_s))  # fmt: skip
    return [
        Forecast(
            created=now_text(),
            whylate=__version__,
            board=recording.manifest.board,
            source=recording.directory.name,
            source_created=recording.manifest.created,
            model=MODEL,
            series=SERIES,
            quantity=quantity,
            axis=AXIS,
            at=len(plan.measured_cpus),
            change=change_text(without.causes, without.speed),
            condition=condition_of(remains) if remains is not None else "",
            value=value,
            low=low,
            high=high,
            supposes=[_SUPPOSES],
            fitted_to=[],
        )
        for quantity, value, low, high in expected
    ]


def rate_limit(quantity: str) -> int | None:
    """Return above which latency, ns, a quantity of forecasts is a rate; None: it is none."""
    digits = quantity.removeprefix(_RATE)
    is_rate = quantity != digits and digits.isascii() and digits.isdigit() and len(digits) < 20
    return int(digits) if is_rate else None


def measured_removal(
    recording: Recording, quantities: Iterable[str]
) -> dict[str, tuple[float, bool]]:
    """Return quantiles, ns, and rates above a latency, a second, by these quantities of forecasts.

    Beside each: whether it is a lower bound, since overruns hide how large it is.
    """
    measured: dict[str, tuple[float, bool]] = dict(measured_quantiles(recording).items())
    seconds = observed_s(recording.samples)
    limits = {quantity: rate_limit(quantity) for quantity in quantities}
    for quantity, above_ns in limits.items():
        if above_ns is None or not seconds:
            continue
        episodes = sum(starts.size for starts in episode_starts(recording.samples, above_ns))
        hidden = any(
            (cpu.overrun & (cpu.latency_ns <= above_ns)).any() for cpu in recording.samples
        )
        measured[quantity] = episodes / seconds, hidden
    return measured


def measured_quantiles(recording: Recording) -> dict[str, tuple[int, bool]]:
    """Return the quantiles of a recording, ns, by the quantities of forecasts.

    Beside each: whether it is a lower bound, since overruns hide how large it is.
    """
    ordered = merge_ordered([sort_series(cpu) for cpu in recording.series])
    if not ordered.n:
        return {}
    measured = {}
    for name, q in QUANTILES.items():
        index = math.ceil(q * ordered.n) - 1
        least = ordered.at_least(index)
        measured[_quantity(name)] = least, ordered.at_most(index) != least
    return measured


def _quantity(name: str) -> str:
    return f"{name}_ns"


def _middle(quantile: PredictedQuantile) -> float:
    """Return the middle of what the windows cannot tell, within the limits."""
    most = quantile.least_ns if quantile.most_ns is None else quantile.most_ns
    middle = (quantile.least_ns + most) / 2
    highest = math.inf if quantile.high_ns is None else quantile.high_ns
    return min(max(middle, quantile.low_ns or 0), highest)
