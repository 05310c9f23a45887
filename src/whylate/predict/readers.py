"""Who calls a function, for what share of CPU time, and what more CPUs would do with it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from whylate.recording.traces.cpu_samples import CpuSamples
from whylate.stats.closed_network import think_from_ratio, throughput
from whylate.stats.sampled_share import SampledShare, estimate_share

#: Blocks of time, of which samples go together.
_BLOCKS = 50
NOT_A_LOSS = (
    "a share of CPU time is not the loss of throughput: with more CPUs each call waits longer"
)
_SUPPOSES = [
    "the function is one device, which serves one after the other, for the same time each",
    "all of these CPUs call it alike, and the time between two calls, idling too, stays as it is",
    "more CPUs do the same beside them; one number of CPUs cannot show a coherence term",
]


class Share(msgspec.Struct, frozen=True):
    """A share of CPU time, with the 95 % interval, conditional on these samples."""

    share: float
    low: float
    high: float


class Caller(msgspec.Struct, frozen=True):
    """A thread's name, or a call path with the nearest caller first. share: of all CPU time."""

    names: list[str]
    samples: int
    share: float


class Scaled(msgspec.Struct, frozen=True):
    """What a number of CPUs does together, as a part of what it would if no call ever waited.

    low, high: 0 and 1 where no think time gives a limit of the share. throughput: calls per µs;
    null where the service time is not known.
    """

    cpus: int
    kept: float
    low: float
    high: float
    throughput: float | None


class Readers(msgspec.Struct, frozen=True):
    """What `whylate predict readers` prints.

    think_per_service: Z / S by the share; think_low by its upper limit, think_high by its lower
    one; null where no think time gives that. predicted: none where the share gives no network.
    """

    trace: str
    function: str
    samples: int
    cpus: int
    seconds: float
    share: Share
    threads: list[Caller]
    paths: list[Caller]
    without_path: int
    think_per_service: float | None
    think_low: float | None
    think_high: float | None
    predicted: list[Scaled]
    notes: list[str]
    supposes: list[str]
    no_model: str
    unread: int


def predict_readers(
    name: str, function: str, samples: CpuSamples, cpus: Sequence[int], service_ns: int | None
) -> Readers:
    """Estimate the share of a function, and predict numbers of CPUs; name: of the samples.

    service_ns: how long a call takes that does not wait.
    """
    share = _share(samples)
    there = samples.cpus
    why_not, think = _why_not(function, share.share), None
    if not why_not:
        try:
            think = think_from_ratio(1 - share.share, there)
        except ValueError as error:
            why_not = str(error)
    low = None if think is None else _limit(share.high, there)
    high = None if think is None else _limit(share.low, there)
    total = len(samples.inside)
    return Readers(
        trace=name,
        function=function,
        samples=total,
        cpus=there,
        seconds=float(np.ptp(samples.time_ns)) / 1e9,
        share=Share(share.share, share.low, share.high),
        threads=_callers({(key,): n for key, n in samples.by_thread.items()}, total),
        paths=_callers(samples.by_path, total),
        without_path=samples.without_path,
        think_per_service=think,
        think_low=low,
        think_high=high,
        predicted=[]
        if think is None
        else [_scaled(n, think, (low, high), service_ns) for n in cpus],
        notes=[NOT_A_LOSS],
        supposes=[] if think is None else _SUPPOSES,
        no_model=why_not,
        unread=samples.unread,
    )


def _share(samples: CpuSamples) -> SampledShare:
    """Estimate the share by blocks of time."""
    edges = np.linspace(samples.time_ns.min(), samples.time_ns.max() + 1, _BLOCKS + 1)
    points, _ = np.histogram(samples.time_ns, edges)
    held, _ = np.histogram(samples.time_ns[samples.inside], edges)
    return estimate_share(held.astype(np.int64), points.astype(np.int64))


def _why_not(function: str, share: float) -> str:
    """Return why a share gives no network; "" where it may."""
    if share <= 0:
        return f"no sample is in {function}"
    return f"all samples are in {function}: none is left between two calls" if share >= 1 else ""


def _limit(share: float, cpus: int) -> float | None:
    """Return Z / S by a limit of the share; None where no think time gives that."""
    try:
        return think_from_ratio(1 - share, cpus)
    except ValueError:
        return None


def _kept(cpus: int, think: float) -> float:
    return throughput(cpus, think, 1.0) * think / cpus


def _scaled(
    cpus: int, think: float, limits: tuple[float | None, float | None], service_ns: int | None
) -> Scaled:
    low, high = limits
    together = throughput(cpus, think, 1.0)
    return Scaled(
        cpus,
        _kept(cpus, think),
        0.0 if low is None else _kept(cpus, low),
        1.0 if high is None else _kept(cpus, high),
        1e3 * together / service_ns if service_ns else None,
    )


def _callers(counts: dict[tuple[str, ...], int], total: int) -> list[Caller]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Caller(list(names), samples, samples / total) for names, samples in ranked]
