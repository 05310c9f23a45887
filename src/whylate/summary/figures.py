"""The accounting and the distribution of one CPU, of all together, or of one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_count, format_seconds_down, format_short_ns
from whylate.recording.manifest import CpuAccount, Manifest
from whylate.recording.samples import Activations
from whylate.stats.run.cpu_series import CpuSeries, time_blocks
from whylate.stats.run.dependence import block_count
from whylate.stats.run.extremes import NoExceedance
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series
from whylate.stats.run.quantiles import EXCEEDANCES, Quantile, estimate_quantile
from whylate.summary.model import Estimate, Exceedance, Figures, StageFigures, ThreadFigures
from whylate.summary.quantiles import QUANTILES

#: Threads of a watched program that have figures of their own.
MOST_THREADS = 12


def figures(
    accounts: Sequence[CpuAccount],
    series: Sequence[Activations],
    ordered: Ordered,
    cpu: int | None,
    stages: Mapping[str, StageFigures],
    counted: str = "activations",
) -> Figures:
    """Summarise these series: quantiles with intervals, the maximum, the accounting.

    cpu: None for all CPUs together. `ordered` holds the latencies of `series`. counted: what they
    are.
    """
    return Figures(
        cpu=cpu,
        expected=sum(account.expected for account in accounts),
        seen=sum(account.seen for account in accounts),
        overrun=sum(account.overrun for account in accounts),
        dropped=sum(account.dropped for account in accounts),
        min_ns=ordered.at_least(0) if ordered.n else None,
        latency_ns=estimates(series, ordered, counted=counted),
        stages=dict(stages),
    )


def estimates(
    series: Sequence[CpuSeries],
    ordered: Ordered,
    most: Sequence[CpuSeries] | None = None,
    counted: str = "activations",
) -> dict[str, Estimate]:
    """Return every quantile that is printed, and the maximum; each is given or has its reason.

    most: as for whylate.stats.run.quantiles.estimate_quantile.
    """
    if ordered.n == 0:
        nothing = Estimate(None, None, None, reason=f"no {counted[:-1]} was recorded")
        return dict.fromkeys((*QUANTILES, "max"), nothing)
    blocks = time_blocks(series, block_count(max(cpu.size for cpu in series)))
    by_name = {
        name: _estimate(
            name, estimate_quantile(ordered, series, blocks, q, most=most), ordered, series, counted
        )
        for name, q in QUANTILES.items()
    }
    longest_ns = ordered.at_least(ordered.n - 1)
    exact = ordered.at_most(ordered.n - 1) == longest_ns
    by_name["max"] = Estimate(longest_ns, None, None, at_least=not exact)
    return by_name


def _estimate(
    name: str, quantile: Quantile, ordered: Ordered, series: Sequence[CpuSeries], counted: str
) -> Estimate:
    reason = None
    if quantile.lacking == "few" and quantile.needed_n is not None:
        reason = (
            f"{name} needs {EXCEEDANCES} {counted} beyond it, that is "
            f"{format_count(quantile.needed_n)} {counted} ({_long(quantile.needed_n, series)}); "
            f"there are {format_count(ordered.n)}"
        )
    elif quantile.lacking == "dependent" and quantile.needed_n is not None:
        reason = (
            f"what was later than {name} came in too few separate episodes for an upper limit; "
            f"about {_long(_rounded_up(quantile.needed_n), series)} would do"
        )
    elif quantile.lacking == "overruns":
        reason = (
            f"{format_count(ordered.overruns)} overruns are known only by a lower bound, and an "
            f"upper limit for {name} falls among them; a longer --interval has fewer"
        )
    return Estimate(
        value=quantile.value_ns,
        low=quantile.low_ns,
        high=quantile.high_ns,
        at_least=quantile.at_least,
        effective_n=quantile.effective_n,
        reason=reason,
    )


def _long(needed_n: int, series: Sequence[CpuSeries]) -> str:
    """Say how long a run has so many activations: "50 s"."""
    per_s = sum(cpu.per_s for cpu in series if cpu.size)
    return format_seconds_down(needed_n / per_s)


def _rounded_up(count: int) -> int:
    """Two digits: an estimate of what would be enough is no better known."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def exceedance(bound: NoExceedance, counted: str = "activations") -> Exceedance:
    """Return the summary's bound above the largest latency."""
    late = "the latest activations" if counted == "activations" else f"the longest {counted}"
    reasons = {
        "none": f"no {counted[:-1]} was recorded",
        "clusters": f"{late} came in too few separate episodes; measure longer",
        "overrun": (
            "the latest activation is an overrun, known only to be later than "
            f"{format_short_ns(bound.above_ns or 0)}; a longer --interval measures it in full"
        ),
    }
    return Exceedance(
        above_ns=bound.above_ns,
        once_in_s=bound.once_in_s,
        episode_index=bound.episode_theta,
        fraction=bound.fraction,
        extremal_index=bound.theta,
        effective_n=bound.effective_n,
        reason=reasons[bound.lacking] if bound.lacking else None,
    )


def thread_count(series: Sequence[Activations]) -> int:
    """Return how many threads woke."""
    return _worst(series)[0].size


def slowest_threads(
    manifest: Manifest, series: Sequence[Activations], counted: str = "activations"
) -> list[ThreadFigures]:
    """Return the figures of the threads with the longest latencies, the longest first."""
    pids, worst_ns = _worst(series)
    slowest = np.lexsort((pids, -worst_ns))[:MOST_THREADS]
    names = {thread.pid: thread.name for thread in manifest.threads}
    return [_thread_figures(pid, names.get(pid), series, counted) for pid in pids[slowest].tolist()]


def _worst(series: Sequence[Activations]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the threads, int32, sorted, and the longest latency of each, int64 ns."""
    worst: dict[int, int] = {}
    for cpu in series:
        for (latency_ns, _), own in zip(cpu.chunks(), cpu.thread_chunks(), strict=False):
            pids, thread = np.unique(own, return_inverse=True)
            longest = np.full(pids.size, np.iinfo(np.int64).min)
            np.maximum.at(longest, thread, latency_ns)
            for pid, latency in zip(pids.tolist(), longest.tolist(), strict=True):
                worst[pid] = max(worst.get(pid, latency), latency)
    threads = sorted(worst)
    return np.array(threads, np.int32), np.array([worst[pid] for pid in threads], np.int64)


def _thread_figures(
    pid: int, name: str | None, series: Sequence[Activations], counted: str
) -> ThreadFigures:
    own = [cpu.of_thread(pid) for cpu in series]
    ordered = merge_ordered([sort_series(cpu) for cpu in own])
    return ThreadFigures(
        pid=pid,
        name=name,
        seen=ordered.n,
        min_ns=ordered.at_least(0),
        latency_ns=estimates(own, ordered, counted=counted),
    )
