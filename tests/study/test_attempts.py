"""What makes a run of a study not count, and the reason that is noted for it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from journals import START, opening, samples, write_journal

from whylate.boards.local import LocalBoard
from whylate.recording.manifest import Problem
from whylate.recording.store.journal import CLOSING, NAME, Closing
from whylate.run.knobs.apply import Applied
from whylate.run.progress import Quiet
from whylate.run.several import Job, Outcome
from whylate.study.attempt import why_not
from whylate.wire.frame import encode_frame
from whylate.wire.messages import CpuStarted


def test_a_run_that_was_cut_is_noted_with_what_cut_it(tmp_path: Path) -> None:
    why = "the probe is gone: the line to the console of board7 is gone"
    begun = opening(None)
    sent = [CpuStarted(0, 1, 95, 1, START, START + 1_000_000_000, 1_000_000), samples()]
    made = write_journal(tmp_path / "made", begun, sent, ended=False)
    closing = Closing("cut", [], [Problem("probe-gone", why, fatal=True)], len(sent), 0, 0, 0)
    with (made / NAME).open("ab") as file:
        file.write(encode_frame(CLOSING, 0, msgspec.json.encode(closing)))
    outcome = Outcome(Job("board7", LocalBoard, begun.plan, made, Quiet()), None, recorded=True)
    assert why_not(outcome, Applied(begun.plan), []) == f"the run was cut: {why}"
