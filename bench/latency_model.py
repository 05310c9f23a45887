"""Simulated wakeup latencies, for calibrations whose truth must be known.

Nothing here is measured: effect sizes found with it depend on it, directions mostly do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def _tail_rows(
    rng: np.random.Generator, n: int, rate: float, cluster_length: float
) -> NDArray[np.int64]:
    """Choose late rows: clusters at Poisson times, their lengths geometric."""
    clusters = rng.poisson(n * rate / cluster_length)
    first = rng.integers(0, n, clusters)
    length = rng.geometric(1 / cluster_length, clusters)
    offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    rows = np.repeat(first, length) + offset
    return np.unique(rows[rows < n])


def simulate_run(
    rng: np.random.Generator,
    n: int = 100_000,
    *,
    median: float = 5.0,
    body_sigma: float = 0.12,
    rho: float = 0.9,
    tail_rate: float = 2e-3,
    cluster_length: float = 4.0,
    tail_scale: float = 12.0,
    tail_shape: float = 0.2,
    run_median_sd: float = 0.02,
    run_rate_sd: float = 0.35,
    run_scale_sd: float = 0.15,
    drift: float = 0.0,
    rare_rate: float = 0.0,
    rare_excess: float = 0.0,
) -> NDArray[np.float64]:
    """Return the latencies of one run in µs, in order of time, shape (n,).

    A log-normal body whose logarithm is AR(1) with coefficient rho; a tail of clusters of late
    activations, a fraction tail_rate of all, each with a generalised Pareto excess; and, with
    the run_*_sd, what a boot or a placement changes: the median, the tail's rate and its scale.
    drift is what the logarithm of the median has moved by when the run is made; rare_rate is the
    part of activations that a second mode adds rare_excess to, in µs.
    """
    # Calibrations that only name this file need not wait for it.
    from scipy.signal import lfilter

    level = np.log(median) + drift + run_median_sd * rng.standard_normal()
    innovations = np.sqrt(1 - rho**2) * rng.standard_normal(n)
    latency: NDArray[np.float64] = np.exp(
        level + body_sigma * lfilter([1.0], [1.0, -rho], innovations)
    )
    # The mean rate is tail_rate whatever its spread between runs.
    rate = tail_rate * np.exp(run_rate_sd * rng.standard_normal() - run_rate_sd**2 / 2)
    scale = tail_scale * np.exp(run_scale_sd * rng.standard_normal())
    late = _tail_rows(rng, n, rate, cluster_length)
    uniform = rng.random(late.size)
    latency[late] += scale * (uniform**-tail_shape - 1) / tail_shape
    rare = rng.integers(0, n, rng.poisson(rare_rate * n))
    latency[rare] += rare_excess * np.exp(0.2 * rng.standard_normal(rare.size))
    return latency
