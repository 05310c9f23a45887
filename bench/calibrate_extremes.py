"""Coverage of the bound for what was not seen, of episode rates, and drift's false alarms.

    python bench/calibrate_extremes.py [--runs 500] [--rows 100000]

The runs are those of calibrate_quantiles.py. The truth of a bound is the fraction of activations
above the run's own maximum in one huge simulation; of a rate, the rate there.
"""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np

from calibrate_quantiles import CASES, CONDITIONAL, INTERVAL_NS, describe, options
from latency_model import simulate_run
from whylate.stats.run.drift import trend_tests
from whylate.stats.run.extremes import estimate_extremal_index, no_exceedance
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.run.rates import estimate_episode_rate

LIMITS_US = (10, 20, 50, 100, 200)
ALARM = 0.01


def main() -> None:
    """Print a table for every case."""
    arguments = options(__doc__)
    simulate = simulate_run
    rng = np.random.default_rng(20240301)
    for case in arguments.case or CASES:
        run, overrides = CASES[case]
        begin = time.perf_counter()
        truth = [
            run(simulate, rng, 2_000_000, **overrides)
            for _part in range(math.ceil(arguments.truth_rows / 2_000_000))
        ]
        population = np.sort(np.concatenate([piece.latency_ns for part in truth for piece in part]))
        rates = {
            limit: np.mean(
                [estimate_episode_rate(part, limit * 1000, None).episodes for part in truth]
            )
            / (len(truth[0][0].latency_ns) * INTERVAL_NS / 1e9)
            for limit in LIMITS_US
        }
        del truth
        bound: list[tuple[bool, float, float]] = []
        over: dict[int, list[tuple[bool, bool, bool]]] = {limit: [] for limit in LIMITS_US}
        alarms: Counter[str] = Counter()
        for _run in range(arguments.runs):
            series = run(simulate, rng, arguments.rows, **overrides)
            ordered = merge_ordered([sort_series(cpu) for cpu in series])
            index = estimate_extremal_index(ordered, series)
            of_episodes = estimate_extremal_index(ordered, series, "episodes")
            found = no_exceedance(ordered, series, index, of_episodes)
            if found.effective_n is not None and found.above_ns is not None and index is not None:
                above = len(population) - np.searchsorted(population, found.above_ns, "right")
                covered = above / len(population) <= -math.log(0.05) / found.effective_n
                bound.append((bool(covered), index.estimate, index.cautious))
            for limit in LIMITS_US:
                rate = estimate_episode_rate(series, limit * 1000, of_episodes)
                given = rate.high_per_s is not None
                over[limit].append(
                    (
                        given,
                        bool(rate.high_per_s is not None and rates[limit] <= rate.high_per_s),
                        bool(rate.low_per_s <= rates[limit]),
                    )
                )
            tests = trend_tests(ordered, series)
            hits = [test for test in tests if test.p_value < ALARM / len(tests)]
            alarms.update({test.statistic for test in hits})
            alarms["any"] += bool(hits)
        print(f"{case}: {arguments.runs} runs of {arguments.rows} rows")
        print(f"  model: {describe(simulate, CONDITIONAL | overrides)}")
        if bound:
            table = np.array(bound)
            print(
                f"  nothing above the maximum: given {len(bound)}, holds {table[:, 0].mean():.3f},"
                f" theta {table[:, 1].mean():.3f}, cautious {table[:, 2].mean():.3f}"
            )
        else:
            print("  nothing above the maximum: refused in every run")
        for limit in LIMITS_US:
            rate_table = np.array(over[limit])
            upper = rate_table[rate_table[:, 0], 1]
            print(
                f"  over({limit}us): {rates[limit]:.3g}/s, upper given {len(upper)}"
                f" holds {upper.mean() if len(upper) else math.nan:.3f},"
                f" lower holds {rate_table[:, 2].mean():.3f}"
            )
        shares = {name: count / arguments.runs for name, count in sorted(alarms.items())}
        print(
            f"  drift, false alarms: {shares}   ({time.perf_counter() - begin:.0f} s)", flush=True
        )


if __name__ == "__main__":
    main()
