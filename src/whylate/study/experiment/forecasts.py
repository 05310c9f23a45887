"""What an experiment is expected to show, predicted before it is made, and what it measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from whylate.causes.counterfactual import UnknownCauseError
from whylate.causes.window.piece import Cause
from whylate.predict.forecast import Forecast
from whylate.predict.removal import removal_forecasts
from whylate.predict.score import Outcome, match_removal
from whylate.predict.without import predict_without
from whylate.recording.errors import LackingError
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording, open_recording
from whylate.run.knobs.files import file_setting
from whylate.study.experiment.plan import OFF
from whylate.study.journal import whole_rounds
from whylate.study.model import FinishedRun, StudyPlan


def predict_experiment(
    recording: Recording, what: str, targets: Collection[Cause]
) -> list[Forecast]:
    """Predict the runs of an experiment with it switched off; none without a cause to remove."""
    plan = recording.manifest.plan
    names = sorted(target.value for target in targets)
    if any(fault.name == what for fault in plan.faults):
        # Its module, which stands behind each of its causes.
        names = [what.replace("-", "_")]
    forecasts = []
    try:
        if names:
            without = predict_without(recording, names)
            forecasts = removal_forecasts(recording, without, remaining_plan(plan, what))
    except (UnknownCauseError, LackingError):
        return []
    return forecasts


def remaining_plan(plan: RunPlan, what: str) -> RunPlan | None:
    """Return the plan of runs without a fault, a load, or with a knob of a file; None: not known.

    what: as `whylate explain --experiment` has it.
    """
    if any(fault.name == what for fault in plan.faults):
        return replace(plan, faults=[fault for fault in plan.faults if fault.name != what])
    if any(load.kind == what for load in plan.loads):
        return replace(plan, loads=[load for load in plan.loads if load.kind != what])
    knob, _, value = what.partition("=")
    setting = file_setting(knob, value)
    if setting is None:
        return None
    others = [each for each in plan.settings if each.path != setting.path]
    return replace(plan, settings=[*others, setting])


def experiment_outcomes(
    directory: Path, plan: StudyPlan, done: Sequence[FinishedRun], forecasts: Sequence[Forecast]
) -> list[Outcome]:
    """Return what was predicted of the runs with it switched off beside what each measured.

    forecasts: those about what is switched off; the last before a run counts. Raises
    RecordingError.
    """
    paths = whole_rounds(done, plan.boards[0], plan.loads[0].name, (OFF,))[OFF]
    return [
        outcome
        for path in paths.values()
        for outcome in match_removal(forecasts, open_recording(directory / path))
    ]
