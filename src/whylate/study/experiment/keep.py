"""The result of an experiment, kept beside its runs for `whylate report` of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.compare.made_experiments import MadeExperiment, MadeShare, write_made
from whylate.recording.errors import DiskError
from whylate.study.experiment.judge import ExperimentResult
from whylate.study.experiment.plan import ON
from whylate.study.model import FinishedRun


def keep_result(directory: Path, result: ExperimentResult, done: Sequence[FinishedRun]) -> None:
    """Write a result into the experiment's directory; raises DiskError.

    Nothing is kept without a run as recorded.
    """
    run = next((run.recording for run in done if run.variant == ON and not run.failed), None)
    if run is None:
        return
    share = result.preventable
    made = MadeExperiment(
        what=result.description[:1000],
        run=run,
        rounds=result.rounds,
        late_on_ns_per_s=result.late_on_ns_per_s,
        late_off_ns_per_s=result.late_off_ns_per_s,
        preventable=None if share is None else MadeShare(share.share, share.low, share.high),
        why_not=None if result.why_not is None else result.why_not[:1000],
    )
    try:
        write_made(directory, made)
    except OSError as error:
        raise DiskError(f"cannot write the result of the experiment: {error}") from None
