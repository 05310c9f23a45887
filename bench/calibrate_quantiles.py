"""Coverage and width of the quantiles' 95 % intervals on simulated runs of known truth.

    python bench/calibrate_quantiles.py [--runs 500] [--rows 100000]

The runs are those of latency_model.py. What differs from run to run
is switched off: an interval from one run is conditional on that run. The truth is the quantile
of one huge simulation. The oracle is an interval of the plain order statistic that knows its
spread over all runs: 1.96 standard deviations of its logarithm.
"""

from __future__ import annotations

import argparse
import inspect
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latency_model import simulate_run
from whylate.recording.samples import CpuSamples
from whylate.stats.run.cpu_series import time_blocks
from whylate.stats.run.dependence import block_count
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.run.quantiles import Quantile, estimate_quantile

QUANTILES = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p99": Fraction(99, 100),
    "p99.9": Fraction(999, 1000),
    "p99.99": Fraction(9999, 10000),
}
INTERVAL_NS = 1_000_000
CONDITIONAL = {"run_median_sd": 0.0, "run_rate_sd": 0.0, "run_scale_sd": 0.0}

_HEAD = " truth us   given   covered  missed/runs  low>truth  high<truth  half-width  /oracle"

Simulate = Callable[..., NDArray[np.float64]]


def describe(simulate: Simulate, overrides: dict[str, Any]) -> str:
    """Name the model's parameters, defaults and overrides together."""
    parameters = {
        name: parameter.default
        for name, parameter in inspect.signature(simulate).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    return ", ".join(f"{name}={value}" for name, value in (parameters | overrides).items())


def cpu(latency_us: NDArray[np.float64], start_ns: int = 0) -> CpuSamples:
    """Turn latencies in microseconds into a series without overruns."""
    n = len(latency_us)
    latency_ns = np.round(latency_us * 1000).astype(np.int64)
    return CpuSamples(0, start_ns, INTERVAL_NS, np.arange(n), latency_ns, np.zeros(n, dtype=bool))


def one_cpu(simulate: Simulate, rng: np.random.Generator, n: int, **model: Any) -> list[CpuSamples]:
    """Simulate one CPU."""
    return [cpu(simulate(rng, n, **CONDITIONAL, **model))]


def two_cpus(
    simulate: Simulate, rng: np.random.Generator, n: int, **model: Any
) -> list[CpuSamples]:
    """Two CPUs with n / 2 activations each: own noise, and stalls that hit both at once.

    A stall comes at 5e-4 per activation, lasts three activations on average and adds a common
    exponential excess of 30 us on average.
    """
    half = n // 2
    stalled = np.zeros(half)
    for start in rng.integers(0, half, rng.poisson(half * 5e-4)):
        stop = start + rng.geometric(1 / 3)
        stalled[start:stop] += rng.exponential(30.0)
    return [
        cpu(simulate(rng, half, **CONDITIONAL, **model) + stalled, start_ns)
        for start_ns in (0, 250_000)
    ]


CASES: dict[str, tuple[Callable[..., list[CpuSamples]], dict[str, Any]]] = {
    "one CPU": (one_cpu, {}),
    "one CPU, no dependence in the body": (one_cpu, {"rho": 0.0}),
    "one CPU, long clusters": (one_cpu, {"cluster_length": 12.0}),
    "two CPUs, common stalls": (two_cpus, {}),
}


def intervals(series: Sequence[CpuSamples]) -> dict[str, Quantile]:
    """Every quantile of one simulated run."""
    ordered = merge_ordered([sort_series(cpu) for cpu in series])
    blocks = time_blocks(series, block_count(max(len(cpu.latency_ns) for cpu in series)))
    return {name: estimate_quantile(ordered, series, blocks, q) for name, q in QUANTILES.items()}


def options(description: str | None) -> argparse.Namespace:
    """Read the command line of a calibration."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--truth-rows", type=int, default=20_000_000)
    parser.add_argument("--case", choices=[*CASES], action="append")
    return parser.parse_args()


def main() -> None:
    """Print a table for every case."""
    arguments = options(__doc__)
    simulate = simulate_run
    rng = np.random.default_rng(20240229)
    for case in arguments.case or CASES:
        run, overrides = CASES[case]
        begin = time.perf_counter()
        truth = _truth(run, simulate, rng, arguments.truth_rows, overrides)
        found = [
            intervals(run(simulate, rng, arguments.rows, **overrides))
            for _run in range(arguments.runs)
        ]
        print(f"{case}: {arguments.runs} runs of {arguments.rows} rows")
        print(f"  model: {describe(simulate, CONDITIONAL | overrides)}")
        print(f"  {'':7s}{_HEAD}")
        for name in QUANTILES:
            print(f"  {name:7s}{_row(truth[name], [each[name] for each in found])}")
        print(f"  ({time.perf_counter() - begin:.0f} s)", flush=True)


def _truth(
    run: Callable[..., list[CpuSamples]],
    simulate: Simulate,
    rng: np.random.Generator,
    rows: int,
    overrides: dict[str, Any],
) -> dict[str, int]:
    parts = [
        cpu.latency_ns
        for _part in range(math.ceil(rows / 2_000_000))
        for cpu in run(simulate, rng, min(rows, 2_000_000), **overrides)
    ]
    together = np.sort(np.concatenate(parts))
    return {name: int(together[math.ceil(q * len(together)) - 1]) for name, q in QUANTILES.items()}


def _row(truth_ns: int, found: Sequence[Quantile]) -> str:
    given = [each for each in found if each.value_ns is not None]
    if not given:
        return f"{truth_ns / 1000:10.3f}      0        (refused in every run)"
    value = np.array([each.value_ns for each in given], dtype=float)
    low = np.array([each.low_ns for each in given], dtype=float)
    high = np.array([each.high_ns for each in given], dtype=float)
    covered = np.mean((low <= truth_ns) & (truth_ns <= high))
    half_width = np.mean(np.log(high / low)) / 2
    oracle = 1.96 * np.std(np.log(value)) or math.nan
    cells = [
        f"{truth_ns / 1000:9.3f}",
        f"{len(given):6d}",
        f"{covered:8.3f}",
        f"{(1 - covered) * len(given) / len(found):11.3f}",
        f"{np.mean(low > truth_ns):9.3f}",
        f"{np.mean(high < truth_ns):10.3f}",
        f"{100 * half_width:8.2f} %",
        f"{half_width / oracle:7.2f}",
    ]
    return "  ".join(cells)


if __name__ == "__main__":
    main()
