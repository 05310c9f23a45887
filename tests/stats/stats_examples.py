"""Series made of arrays, and latencies with a known dependence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whylate.recording.samples import CpuSamples
from whylate.stats.run.cpu_series import TimeBlocks, time_blocks
from whylate.stats.run.dependence import block_count
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series

MS = 1_000_000


def cpu_series(
    latency_ns: ArrayLike,
    *,
    overrun: Sequence[int] = (),
    activation: ArrayLike | None = None,
    start_ns: int = 0,
    interval_ns: int = MS,
) -> CpuSamples:
    values = np.asarray(latency_ns, dtype=np.int64)
    censored = np.zeros(len(values), dtype=bool)
    censored[list(overrun)] = True
    numbers = np.arange(len(values)) if activation is None else np.asarray(activation)
    return CpuSamples(0, start_ns, interval_ns, numbers.astype(np.int64), values, censored)


def ordered(*series: CpuSamples) -> Ordered:
    return merge_ordered([sort_series(cpu) for cpu in series])


def blocks(*series: CpuSamples) -> TimeBlocks:
    return time_blocks(series, block_count(max(len(cpu.latency_ns) for cpu in series)))


def independent(n: int, seed: int = 1) -> NDArray[np.int64]:
    values = np.random.default_rng(seed).exponential(10_000, n) + 5_000
    return values.astype(np.int64)


def clustered(
    n: int, clusters: int, length: int, seed: int = 1, *, alike: bool = False
) -> NDArray[np.int64]:
    """Independent microseconds with bursts of `length` late activations far above them.

    alike: a burst is as late throughout, give or take a microsecond.
    """
    rng = np.random.default_rng(seed)
    values = rng.integers(4_000, 6_000, n)
    starts = rng.choice(n // (2 * length), clusters, replace=False) * 2 * length
    for start in starts:
        height = rng.integers(0, 50_000, 1 if alike else length)
        values[start : start + length] += 50_000 + height
    return values


def autoregressive(n: int, rho: float, seed: int) -> NDArray[np.int64]:
    from scipy.signal import lfilter

    noise = np.random.default_rng(seed).standard_normal(n) * np.sqrt(1 - rho * rho)
    values = 5_000 * np.exp(0.12 * lfilter([1.0], [1.0, -rho], noise))
    return np.asarray(np.round(values), dtype=np.int64)
