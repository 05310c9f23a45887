"""A run under way: everything that its steps share, and what is written down about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from whylate import __version__
from whylate.boards.facts import facts
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.probe.binaries import ProbeBinary
from whylate.probe.client import Client, ProbeRefusedError
from whylate.recording.manifest import SCHEMA_VERSION, Change, Problem, State
from whylate.recording.plan import RunPlan
from whylate.recording.shown import shown
from whylate.recording.store.journal import Closing, JournalWriter, Opening
from whylate.run.errors import RequestError
from whylate.run.progress import Observer, Tally
from whylate.wire.frame import Frame
from whylate.wire.messages import Message, Result, Welcome

#: Loads run this long before measuring begins, so that they are warm and their rate is known.
WARM_UP_S = 1.6
#: The live line is told this often.
REPORT_S = 0.2
#: Code of the problem where a board could not be left as it was found, or was changed meanwhile.
LEAVING = "leaving"


@dataclass
class Run:
    """A run under way."""

    plan: RunPlan
    client: Client
    journal: JournalWriter
    observer: Observer
    stopped: Callable[[], bool]
    tally: Tally
    ended: bool = False
    interrupted: bool = False
    #: What was to be said can be said (RunPlan.until).
    reached: bool = False

    def receive(self, frame: Frame, message: Message) -> None:
        """Keep a message of the probe before anything else is done with it."""
        self.journal.frame(frame)
        self.tally.add(message)
        self.ended = self.ended or isinstance(message, Result)


def must_be_new(directory: Path) -> None:
    """Raise RequestError where a recording would be overwritten."""
    if directory.exists():
        raise RequestError(
            f"{directory} exists: a recording is never overwritten, choose another name with -o"
        )


def opening(
    board: str,
    binary: ProbeBinary,
    plan: RunPlan,
    welcome: Welcome,
    snapshot: Snapshot,
    identity: ProbeFacts,
) -> Opening:
    """Return what is known before the run."""
    return Opening(
        schema_version=SCHEMA_VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        whylate=__version__,
        board=board,
        clock="CLOCK_MONOTONIC",
        plan=plan,
        facts=facts(snapshot, identity),
        probe_version=welcome.version,
        probe_arch=welcome.arch,
        probe_sha256=binary.sha256,
        clock_resolution_ns=welcome.clock_resolution_ns,
        clock_read_ns=welcome.clock_read_ns,
        problems=[],
    )


def leaving(error: ProbeRefusedError) -> Problem:
    """Return what it is of a run that its loads or settings were not in order at its end."""
    return Problem(LEAVING, shown(str(error), 400), fatal=True)


def closing(client: Client, state: State, moved: list[Change], problems: list[Problem]) -> Closing:
    """Return what is known only after the run, and what the line did."""
    link, frames = client.link.counts, client.link.frame_counts
    if link.lost or link.malformed:
        problems.append(
            Problem(
                "line",
                f"{link.lost} frames were lost on the way for good, and {link.malformed} could not "
                "be understood",
                fatal=True,
            )
        )
    return Closing(
        state=state,
        changes=moved,
        problems=problems,
        frames=link.delivered,
        frames_damaged=frames.damaged + frames.oversized + frames.other_protocol,
        frames_resent=link.requests,
        frames_lost=link.lost,
    )
