"""Results of experiments that switched something off in runs of their own, beside recordings.

An experiment's directory has its result in RESULT, and the first of its runs as recorded stands for
it where several runs are beside each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from whylate.files import read_bounded, write_whole
from whylate.recording.errors import RecordingError

RESULT = "experiment.json"
_MOST_BYTES = 1 << 16
_Text = Annotated[str, msgspec.Meta(max_length=1000)]


class MadeShare(msgspec.Struct, frozen=True):
    """A share with its 95 % interval, where there is one."""

    share: float
    low: float | None
    high: float | None


class MadeExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of an experiment show. what: was switched off. rounds: whole rounds of runs.

    run: the path of its first run as recorded, below the directory. late_on_ns_per_s,
    late_off_ns_per_s: the late time in a second of a run. preventable: None: why_not says why.
    """

    what: _Text
    run: _Text
    rounds: Annotated[int, msgspec.Meta(ge=0)]
    late_on_ns_per_s: float | None
    late_off_ns_per_s: float | None
    preventable: MadeShare | None
    why_not: _Text | None


def write_made(directory: Path, made: MadeExperiment) -> None:
    """Write the result of an experiment into its directory, whole or not at all; raises OSError."""
    write_whole(directory / RESULT, msgspec.json.encode(made))


def read_made(directory: Path) -> MadeExperiment | None:
    """Return the result of an experiment; None of a directory that has none.

    Raises RecordingError where it is damaged, or names a run outside of the directory.
    """
    path = directory / RESULT
    if not path.is_file():
        return None
    try:
        made = msgspec.json.decode(read_bounded(path, _MOST_BYTES), type=MadeExperiment)
        inside = (directory / made.run).resolve().is_relative_to(directory.resolve())
    except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise RecordingError(f"{path} is no result of an experiment: {error}") from None
    if not made.run or not inside:
        raise RecordingError(f"{path} names a run that is not below {directory}")
    return made
