"""`whylate explain --experiment`: what goes away when a cause is switched off?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from whylate.boards.board import Board
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.boards.waiting import Waiting
from whylate.cli.interrupt import Interrupt
from whylate.cli.messages import print_message, refuse_imported
from whylate.cli.print_json import print_document
from whylate.cli.study.show import print_lost
from whylate.cli.study.view import StudyView
from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.report.plain_console import plain_console
from whylate.run.errors import RequestError
from whylate.study.journal import StudyJournal
from whylate.text import path_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whylate.causes.window.piece import Cause
    from whylate.predict.forecast import Forecast


def explain_experiment(
    directory: Path,
    what: str,
    *,
    target: str | None,
    threshold_ns: int | None,
    rounds: int | None,
    duration_ns: int | None,
    wait_s: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Make the runs of an experiment, or resume it; return the exit status.

    It is 3 if there is no preventable share. Raises RequestError and RecordingError.
    """
    from whylate.causes.answer import explain_recording
    from whylate.predict.terminal import print_outcomes
    from whylate.study.carry_out import run_study
    from whylate.study.experiment.forecasts import experiment_outcomes, predict_experiment
    from whylate.study.experiment.judge import judge_experiment, located_share
    from whylate.study.experiment.keep import keep_result
    from whylate.study.experiment.plan import DEFAULT_ROUNDS, plan_experiment
    from whylate.study.experiment.terminal import print_experiment

    refuse_imported(
        [directory],
        "what its board ran: measure the board with whylate, and experiment with that recording",
    )
    recording = open_recording(directory)
    answer = explain_recording(recording, threshold_ns=threshold_ns, worst=0)
    if answer.population is None:
        raise RequestError(f"nothing to experiment with: {answer.why_not}")
    asked = plan_experiment(
        recording.manifest.board,
        recording.manifest.plan,
        what,
        threshold_ns=answer.threshold_ns,
        rounds=DEFAULT_ROUNDS if rounds is None else rounds,
        duration_ns=duration_ns,
        target=_parse_cause(target),
    )
    place = output or Path("experiments") / path_part(f"{directory.resolve().name}-{what}")
    interrupt = Interrupt()
    predicted = predict_experiment(recording, what, asked.targets)
    unkept: list[Forecast] = []
    with StudyJournal(place, asked.plan) as journal, StudyView(asked.plan) as view:
        if not journal.done:
            unkept = keep_or_warn(directory, predicted)
        waiting = Waiting(wait_s, interrupt.wanted, view.log)

        def open_for(name: str, words: tuple[str, ...]) -> Board:
            return open_board(name, BoardOptions(asked.plan.smp, words, waiting=waiting))

        studied = run_study(journal, asked.plan, open_for, view, interrupt.wanted)
        done = journal.done
    result = judge_experiment(
        place, asked, done, located_share(answer.population, asked.targets), recording.manifest
    )
    keep_result(place, result, done)
    changes = {forecast.change for forecast in predicted}
    about = [
        forecast for forecast in known_forecasts(directory, unkept) if forecast.change in changes
    ]
    outcomes = experiment_outcomes(place, asked.plan, done, about)
    if as_json:
        content = {"directory": str(place), **msgspec.structs.asdict(result)}
        content |= {"predicted": outcomes} if outcomes else {}
        print_document("experiment", content)
    else:
        console = plain_console()
        print_experiment(result, console)
        print_outcomes(outcomes, console)
    print_lost(studied.lost)
    return 0 if result.preventable is not None else 3


def keep_or_warn(directory: Path, forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Keep forecasts in a recording; return those that it cannot keep, after a warning.

    An experiment does without: it may be of a recording that only others can write.
    """
    from whylate.predict.store import keep_forecasts

    try:
        keep_forecasts(directory, forecasts)
    except RecordingError as error:
        print_message(f"{error}: the forecast of the experiment is not kept")
        return list(forecasts)
    return []


def known_forecasts(directory: Path, unkept: Sequence[Forecast]) -> list[Forecast]:
    """Return the forecasts of a recording that can be read, and those that it could not keep."""
    from whylate.predict.store import read_forecasts

    try:
        return [*read_forecasts(directory), *unkept]
    except RecordingError as error:
        print_message(f"{error}: earlier forecasts are not shown")
        return list(unkept)


def _parse_cause(name: str | None) -> Cause | None:
    from whylate.causes.window.piece import Cause

    if name is None:
        return None
    try:
        return Cause(name)
    except ValueError:
        raise RequestError(
            f"--target {name[:40]!r}: invalid value, expected one of {', '.join(Cause)}"
        ) from None
