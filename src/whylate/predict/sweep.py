"""What was swept in a recording of a benchmark: throughput over a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import Repetitions


@dataclass(frozen=True)
class Sweep:
    """A throughput by a number, in ascending order. values: the medians over rounds.

    axis: what the number counts. quantity: the key of the throughput. sampling_sd: the standard
    deviation of the logarithm of a value, by its sampling. left_out: numbers that models are not
    fitted to, and why: the reason is "" where there are none. change: what is done differently than
    in the sweep of that name, as forecasts have it; "" for nothing.
    """

    name: str
    axis: str
    quantity: str
    unit: str
    counts: tuple[int, ...]
    values: tuple[float, ...]
    sampling_sd: float
    left_out: tuple[int, ...] = ()
    reason: str = ""
    beyond: tuple[float, ...] = ()
    change: str = ""

    @property
    def label(self) -> str:
        """The name, with what is done differently."""
        return f"{self.name}, {self.change}" if self.change else self.name

    def with_reason(self, text: str) -> str:
        """Return why there is no model, and what was left out of the fit."""
        return f"{text} ({self.reason})" if self.reason else text

    @property
    def measured(self) -> dict[int, float]:
        """Each value by its number, also of the numbers that models are not fitted to."""
        return dict(zip((*self.counts, *self.left_out), (*self.values, *self.beyond), strict=True))


@dataclass(frozen=True)
class Source:
    """A benchmark that was recorded."""

    manifest: Manifest
    repetitions: Repetitions


def make_sweep(
    name: str,
    axis: str,
    quantity: str,
    unit: str,
    by_round: Mapping[int, Sequence[float]],
    left_out: Sequence[int] = (),
    reason: str = "",
    change: str = "",
) -> Sweep:
    """Return a sweep from one value of each round, by number.

    A median of n rounds varies by about 1.25 sd / sqrt(n).
    """
    medians = {
        count: float(np.median(values))
        for count, values in sorted(by_round.items())
        if len(values) and min(values) > 0
    }
    spreads = [
        1.25 * float(np.std(np.log(by_round[count]), ddof=1)) / math.sqrt(len(by_round[count]))
        for count in medians
        if len(by_round[count]) > 1
    ]
    kept = [count for count in medians if count not in left_out]
    apart = [count for count in medians if count in left_out]
    return Sweep(
        name=name,
        axis=axis,
        quantity=quantity,
        unit=unit,
        counts=tuple(kept),
        values=tuple(medians[count] for count in kept),
        sampling_sd=math.sqrt(float(np.mean(np.square(spreads)))) if spreads else 0.0,
        left_out=tuple(apart),
        reason=reason if apart else "",
        beyond=tuple(medians[count] for count in apart),
        change=change,
    )
