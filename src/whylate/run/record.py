"""A run under way: what its steps share, and what is recorded of it besides samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing as closed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whylate import __version__
from whylate.boards.facts import facts
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.boards.notes import noted_run
from whylate.probe.binaries import ProbeBinary
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.manifest import SCHEMA_VERSION, Change, Fact, Problem, State
from whylate.recording.moments import now_text
from whylate.recording.plan import RunPlan
from whylate.recording.store.journal import Closing, JournalWriter, Opening
from whylate.run.errors import RequestError
from whylate.run.progress import Observer
from whylate.run.tally import Tally
from whylate.text import shown
from whylate.wire.frame import Frame
from whylate.wire.messages import Message, Result, Welcome

#: Loads run this long before the measurement, so that they are warm and their rate is known.
WARM_UP_S = 1.6
#: The time between reports of progress.
REPORT_S = 0.2
#: Code of the problem that a board was not left as it was found, or changed during the run.
LEAVING = "leaving"
#: The fact of a virtual board in virtual time that booted for the run, or was resumed.
CAME_UP = "came up"


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
    #: The goal of RunPlan.until is reached.
    reached: bool = False

    def receive(self, frame: Frame, message: Message) -> None:
        """Write a message of the probe to the journal before anything else uses it."""
        self.journal.frame(frame)
        self.tally.add(message)
        self.ended = self.ended or isinstance(message, Result)

    def reaches_until(self) -> bool:
        """Whether latencies above the limit of RunPlan.until are shown to be rare enough.

        Every activation above the limit counts, also several of one stall, so the run is rather
        too long than too short. The finished recording shows whether episodes cluster.
        """
        until = self.plan.until
        if until is None or self.tally.above >= len(until.after_ns):
            return False
        return self.tally.board_elapsed_s * 1e9 >= until.after_ns[self.tally.above]

    def until_text(self) -> str:
        """Return why the run ended before its time."""
        until = self.plan.until
        limit_us = until.limit_ns / 1e3 if until is not None else 0.0
        return (
            f"ended after {self.tally.board_elapsed_s:.0f} s with {self.tally.above} activations "
            f"above {limit_us:g} us, when they were shown to be rare enough"
        )


def must_be_new(directory: Path) -> None:
    """Raise RequestError if a recording would be overwritten."""
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
    came_up: str = "",
) -> Opening:
    """Return what the journal records before the run.

    came_up: how a virtual board in virtual time came up.
    """
    virtual = [Fact(CAME_UP, came_up, "whylate", "machine")] if came_up else []
    return Opening(
        schema_version=SCHEMA_VERSION,
        created=now_text(),
        whylate=__version__,
        board=board,
        clock="CLOCK_MONOTONIC",
        plan=plan,
        facts=[*facts(snapshot, identity), *virtual],
        probe_version=welcome.version,
        probe_arch=welcome.arch,
        probe_sha256=binary.sha256,
        clock_resolution_ns=welcome.clock_resolution_ns,
        clock_read_ns=welcome.clock_read_ns,
        problems=[],
    )


@contextmanager
def recorded(directory: Path, first: Opening) -> Iterator[JournalWriter]:
    """Yield the journal of a new recording; whoever watches the board sees where it is."""
    with noted_run(first.board, directory), closed(JournalWriter(directory, first)) as journal:
        yield journal


def leaving(finish: Callable[[], object]) -> list[Problem]:
    """Wait until loads stopped and settings are restored; return what was not in order."""
    try:
        finish()
    except ProbeRefusedError as error:
        return [Problem(LEAVING, shown(str(error), 400), fatal=True)]
    return []


def closing(client: Client, state: State, moved: list[Change], problems: list[Problem]) -> Closing:
    """Return what the journal records after the run, with the state of the line."""
    link, frames = client.link.counts, client.link.frame_counts
    if link.lost or link.malformed:
        problems.append(
            Problem(
                "line",
                f"{link.lost} frames were lost for good, and {link.malformed} were malformed",
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
