"""The throughput of threads that share the readings of one device (remedies/shared_read.h).

Each of n threads thinks for Z on average, of the exponential distribution, then wants a reading,
which takes the device S each time. p = 1 - exp(-S / Z) is the probability that a thread that thinks
calls within one reading. Whoever is served by a reading leaves as it ends; publishing it takes no
time, and whoever waits needs no CPU of another.
"""

from __future__ import annotations

import math

#: Halvings of an interval of at most 10,000 threads: below the precision of a float.
_HALVINGS = 80


def relaxed_throughput(n: int, think: float, service: float) -> float:
    """Return the throughput where a reading serves its caller and all who call while it goes on.

    As it ends all n think, the next call comes Z / n later on average, and meets an idle device.
    Its reading serves n - 1 others with probability p each: 1 + (n - 1) p calls in Z / n + S, exact
    by renewal and reward. Raises ValueError where there is no thread, or no think time.
    """
    _check(n, think, service)
    called = -math.expm1(-service / think)
    return (1 + (n - 1) * called) / (think / n + service)


def strict_throughput(n: int, think: float, service: float) -> float:
    """Return the throughput where a reading serves those who called before it began.

    A reading serves k threads and n - k think. Those who call meanwhile, of the binomial
    distribution with n - k and p, are served by the next, which begins at once; if there is none,
    with probability q = (1 - p)^(n - k), the device is idle for Z / n on average, and the next
    reading serves one. So k = (n - k) p + q in the mean, and the throughput is k / (S + q Z / n). q
    is taken at the mean of k: against the whole Markov chain that is off by 0.5 % at most. Raises
    ValueError where there is no thread, or no think time.
    """
    _check(n, think, service)
    each = service / think
    called = -math.expm1(-each)
    low, high = 1.0, float(n)
    for _ in range(_HALVINGS):
        served = (low + high) / 2
        # Falls in `served`, by at least p (1 - p).
        if (n - served) * called + math.exp(-(n - served) * each) > served:
            low = served
        else:
            high = served
    return low / (service + math.exp(-(n - low) * each) * think / n)


def _check(n: int, think: float, service: float) -> None:
    if n < 1 or think <= 0 or service < 0:
        raise ValueError("threads that take time between two calls are needed")
