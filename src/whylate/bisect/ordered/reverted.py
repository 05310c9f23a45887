"""BAD with the culprit reverted on top of it: is the difference gone with it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.bisect.ordered.model import Step
from whylate.bisect.ordered.versions import Versions
from whylate.stats.ordered_search.given_back import GivenBack, estimate_given_back

#: Pairs of runs. A fixed number: who stops at the first evidence estimates too much.
PAIRS = 10


@dataclass(frozen=True)
class Reverted:
    """What became of BAD without the culprit.

    reason: why there is no such version, or it cannot be run; "": it was run. pairs: of fresh runs,
    of BAD and of BAD without it. back: which part of the difference between GOOD and BAD it gives
    back.
    """

    reason: str = ""
    pairs: int = 0
    back: GivenBack | None = None


def next_reverted(versions: Versions, steps: Sequence[Step], seed: int) -> bool | Reverted:
    """Return whether BAD without the culprit is to be run next, rather than BAD; or the result.

    The order within a pair is random.
    """
    reasons = [step.reason for step in steps if step.kind == "not reverted"]
    if reasons:
        return Reverted(reasons[-1])
    bad = [step.value for step in steps if step.kind == "kept" and step.value is not None]
    without = [step.value for step in steps if step.kind == "reverted" and step.value is not None]
    if len(bad) != len(without):
        return len(without) < len(bad)
    if len(bad) < PAIRS:
        return bool(np.random.default_rng([seed, 1, len(bad)]).integers(2))
    changes = [after - before for before, after in zip(bad, without, strict=True)]
    ends = [
        [step.value for step in steps
         if step.kind == "run" and step.version == end and step.value is not None]
        for end in (versions.names[0], versions.names[-1])
    ]  # fmt: skip
    return Reverted("", len(bad), estimate_given_back(changes, *ends))
