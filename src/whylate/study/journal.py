"""The directory of a study: its plan, a line for each run, and the recordings.

study.json                       the plan
runs.jsonl                       one line for each run, on the disk before the next one begins
runs/BOARD/LOAD/VARIANT/ROUND    the recordings: whylate compare takes two of these directories
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whylate.recording.former_schema import convert_study
from whylate.recording.path_part import path_part
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError
from whylate.study.model import SCHEMA_VERSION, FinishedRun, PlannedRun, StudyPlan

PLAN = "study.json"
JOURNAL = "runs.jsonl"
RUNS = "runs"
#: What of a plan may be another when a study goes on.
_MAY_CHANGE = frozenset({"stop", "budget_ns", "warm_up_ns"})


#: How a key of a plan is called where its name does not say it.
_CALLED = {"image_sha256": "content of an image"}


#: An e-process is looked at from so many pairs on.
_FIRST_LOOK = 2

LAYOUT = Layout(
    what="study",
    plan=PLAN,
    plan_type=StudyPlan,
    schema_version=SCHEMA_VERSION,
    lines=JOURNAL,
    line_type=FinishedRun,
    folder=RUNS,
    convert=convert_study,
)


def read_study(directory: Path) -> tuple[StudyPlan, list[FinishedRun]]:
    """Return the plan of a study and its runs so far; raises RecordingError."""
    return LAYOUT.read(directory)


class StudyJournal(LineDirectory[StudyPlan, FinishedRun]):
    """A study that goes on: keeps the directory for this process. append() is for any thread.

    Raises RecordingError for a directory that holds something else, RequestError for a study of
    another plan, and DiskError where it cannot be written.
    """

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        super().__init__(directory, LAYOUT, plan)

    @property
    def done(self) -> list[FinishedRun]:
        """The runs so far."""
        return self.lines

    def must_be_same(self, held: StudyPlan) -> None:
        """Raise RequestError for a study of another plan, but for when it ends."""
        theirs = msgspec.structs.asdict(held)
        for name, wanted in msgspec.structs.asdict(self.plan).items():
            if name not in _MAY_CHANGE and theirs[name] != wanted:
                raise RequestError(
                    f"{self.directory} is a study with another "
                    f"{_CALLED.get(name, name.removesuffix('_ns'))}: give the same plan again to "
                    "go on with it, or choose another name with -o"
                )
        self._check_stop(held)

    def _check_stop(self, held: StudyPlan) -> None:
        """Raise RequestError for a rule that would look once more at what was looked at.

        Who makes more runs because those that there were did not decide it, and then tests at 5 %
        again, errs in one of seven. An e-process may go on for as long as one likes.
        """
        ours, theirs = self.plan.stop, held.stop
        if ours == theirs or ours.kind == theirs.kind == "anytime":
            return
        first = _FIRST_LOOK if theirs.kind == "anytime" else theirs.looks[0]
        base = held.variants[0].name
        rounds = max(
            len(whole_rounds(self.lines, board, load.name, [base, other.name])[base])
            for board in held.boards
            for load in held.loads
            for other in held.variants[1:]
        )
        if rounds >= first:
            raise RequestError(
                f"{self.directory} has {rounds} rounds and was looked at by its rule: another rule "
                "now would err more often than it says. A new study may have any: choose another "
                "name with -o"
            )


def made(done: list[FinishedRun]) -> set[PlannedRun]:
    """Return the runs that there are recordings of."""
    return {
        PlannedRun(one.board, one.load, one.variant, one.round) for one in done if not one.failed
    }


def whole_rounds(
    done: Sequence[FinishedRun], board: str, load: str, variants: Sequence[str]
) -> dict[str, dict[int, str]]:
    """Return the recordings under a load of rounds that all these variants have, by round."""
    found: dict[str, dict[int, str]] = {variant: {} for variant in variants}
    for one in done:
        if (one.board, one.load) == (board, load) and not one.failed:
            found.get(one.variant, {})[one.round] = one.recording
    whole = sorted(set.intersection(*(set(rounds) for rounds in found.values())))
    return {
        variant: {number: rounds[number] for number in whole} for variant, rounds in found.items()
    }


def recording_path(place: PlannedRun) -> str:
    """Return where a run's recording goes, below the study's directory."""
    parts = (path_part(part) for part in (place.board, place.load, place.variant))
    return "/".join((RUNS, *parts, f"{place.round:04d}"))
