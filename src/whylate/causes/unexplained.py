"""How much of a tail an answer leaves unexplained."""

from __future__ import annotations

import numpy as np

from whylate.causes.answer import Answer
from whylate.causes.window.piece import Cause


def unexplained_share(answer: Answer) -> tuple[float, float]:
    """Return the unexplained part of the tail's excess, and the 95th percentile over episodes.

    The latter is of the part of each recorded episode's latency, of as many as the answer has
    stories of: answer_of() is to be asked for all. Both are 0 where nothing was late.
    """
    if answer.population is None:
        return 0.0, 0.0
    share = sum(
        share.share for share in answer.population.causes if share.cause is Cause.UNEXPLAINED
    )
    parts = [
        sum(
            piece.length_ns
            for piece in example.breakdown.pieces
            if piece.cause is Cause.UNEXPLAINED
        )
        / max(example.breakdown.latency_ns, 1)
        for example in answer.worst
        if example.breakdown.pieces is not None
    ]
    return share, float(np.quantile(parts, 0.95)) if parts else 0.0
