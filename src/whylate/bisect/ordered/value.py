"""The value of a run of a version."""

from __future__ import annotations

from whylate.bisect.outcome import NoOutcomeError, outcome_of
from whylate.recording.errors import RecordingError
from whylate.run.knobs.apply import Applied
from whylate.run.several import Outcome
from whylate.study.attempt import why_not


def value_of_run(outcome: Outcome, applied: Applied, statistic: str) -> tuple[float, str]:
    """Return the statistic of a run, as it is compared, and its unit.

    Raises NoOutcomeError where the run does not count, and RequestError for a knob that was not in
    effect.
    """
    try:
        if reason := why_not(outcome, applied, [applied]):
            raise NoOutcomeError(reason)
        return outcome_of(outcome.job.directory, statistic)
    except RecordingError as error:
        raise NoOutcomeError(str(error)) from None
