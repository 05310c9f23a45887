"""The directory of a study: its plan, a line for each run, and the recordings.

study.json                       the plan
runs.jsonl                       a line for each run, on disk before the next run begins
runs/BOARD/LOAD/VARIANT/ROUND    the recordings: whylate compare takes two of these directories
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whylate.recording.former_schema import convert_study
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError
from whylate.study.mark import PLAN
from whylate.study.model import SCHEMA_VERSION, FinishedRun, PlannedRun, StudyPlan
from whylate.text import path_part

JOURNAL = "runs.jsonl"
RUNS = "runs"
#: Keys of a plan that may change when a study is resumed.
_MAY_CHANGE = frozenset({"stop", "budget_ns", "warm_up_ns"})
#: Names of keys for messages, where the key itself is unclear.
_KEY_NAMES = {"image_sha256": "content of an image"}
#: The first look of an e-process, in pairs of runs.
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
    """The open directory of a study, locked for this process; append() is thread-safe.

    Raises RecordingError for a directory with other contents, RequestError for a study of another
    plan, and DiskError.
    """

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        super().__init__(directory, LAYOUT, plan)

    @property
    def done(self) -> list[FinishedRun]:
        """The runs so far."""
        return self.lines

    def must_be_same(self, held: StudyPlan) -> None:
        """Raise RequestError for a study of another plan, except when it ends."""
        former = msgspec.structs.asdict(held)
        for name, wanted in msgspec.structs.asdict(self.plan).items():
            if name not in _MAY_CHANGE and former[name] != wanted:
                raise RequestError(
                    f"{self.directory} is a study with another "
                    f"{_KEY_NAMES.get(name, name.removesuffix('_ns'))}: give the same plan to "
                    "resume it, or choose another name with -o"
                )
        self._check_stop(held)

    def _check_stop(self, held: StudyPlan) -> None:
        """Raise RequestError for a new stopping rule after the first look.

        More runs after an undecided look, and another test at 5 %, have a false-alarm rate of one
        in seven. An e-process may be continued at will.
        """
        rule, former = self.plan.stop, held.stop
        if rule == former or rule.kind == former.kind == "anytime":
            return
        first = _FIRST_LOOK if former.kind == "anytime" else former.looks[0]
        base = held.variants[0].name
        rounds = max(
            len(whole_rounds(self.lines, board, load.name, [base, variant.name])[base])
            for board in held.boards
            for load in held.loads
            for variant in held.variants[1:]
        )
        if rounds >= first:
            raise RequestError(
                f"{self.directory} has {rounds} rounds and had a look by its stopping rule: "
                "another rule would inflate the false-alarm rate. A new study may have any rule: "
                "choose another name with -o"
            )


def recorded_runs(done: Sequence[FinishedRun]) -> set[PlannedRun]:
    """Return the runs that have a recording."""
    return {
        PlannedRun(run.board, run.load, run.variant, run.round) for run in done if not run.failed
    }


def whole_rounds(
    done: Sequence[FinishedRun], board: str, load: str, variants: Sequence[str]
) -> dict[str, dict[int, str]]:
    """Return for each variant the recordings of rounds that all these variants have, by round."""
    recordings: dict[str, dict[int, str]] = {variant: {} for variant in variants}
    for run in done:
        if (run.board, run.load) == (board, load) and not run.failed and run.variant in recordings:
            recordings[run.variant][run.round] = run.recording
    whole = sorted(set.intersection(*map(set, recordings.values())))
    return {
        variant: {number: rounds[number] for number in whole}
        for variant, rounds in recordings.items()
    }


def recording_path(run: PlannedRun) -> str:
    """Return the path of a run's recording below the study's directory."""
    parts = (path_part(part) for part in (run.board, run.load, run.variant))
    return "/".join((RUNS, *parts, f"{run.round:04d}"))
