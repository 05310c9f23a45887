"""A rate as the tables write it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.stats.limits import binomial_limits


def rate(events: Sequence[bool]) -> str:
    """Write a rate with its 95 % limits (Clopper and Pearson)."""
    low, high = binomial_limits(sum(events), len(events), 0.95)
    return f"{np.mean(events):.3f} [{low:.3f}, {high:.3f}]"
