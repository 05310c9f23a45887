"""What every bisection of a set of differences asks of its plan."""

from __future__ import annotations

from whylate.run.errors import RequestError
from whylate.study.model import StudyPlan

#: Fewer runs are not enough for both sides alone.
_FEWEST_RUNS = 40


def check_limits(study: StudyPlan, runs: int, margin: float) -> None:
    """Raise RequestError for a study, a number of runs or a margin that no bisection has."""
    if len(study.loads) != 1:
        raise RequestError(f"a bisection has one set of loads, and the plan has {len(study.loads)}")
    if runs < _FEWEST_RUNS:
        raise RequestError(f"--runs {runs}: the two sides alone take up to {_FEWEST_RUNS} runs")
    if not 0 < margin < 0.5:
        raise RequestError(f"--margin {margin:g}: expected a part of the gap between 0 and 0.5")
