"""What `explain` answers to a case, marked against what is known of it.

A right answer is one of the pieces that the catalogue names for a cause (fault.toml). Kept is all
that the tables are made of; nothing is decided here about a whole plan.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from truth_case import Case
from truth_known import Known, acted_in, known
from truth_runs import open_made, recording_path

from whylate.causes.answer import Answer as Explained
from whylate.causes.answer import explain_recording, unexplained_share
from whylate.causes.population import Breakdown, CauseShare
from whylate.causes.window.piece import Cause as Named
from whylate.lab.faults.catalogue import fault
from whylate.lab.faults.log import FaultLog, unpack
from whylate.recording.reader import Recording
from whylate.run.unattended import FAULTS

#: What of a window is right: within a part of the truth, or so much.
WINDOW_PART = 0.05
WINDOW_NS = 2_000
#: An activation's own way, and no cause that somebody could do away with.
OWN_WAY = frozenset({Named.SCHEDULING, Named.RETURN})
#: What is no cause on the board at all.
NO_CAUSE = OWN_WAY | {Named.UNEXPLAINED, Named.NOT_OBSERVED, Named.RECORDING}


class Share(msgspec.Struct, frozen=True):
    """A line of the answer."""

    cause: str
    detail: str
    share: float
    low: float | None
    high: float | None
    mean_ns: float
    significant: bool


class TrueFault(msgspec.Struct, frozen=True):
    """A cause that was injected, and how it was marked.

    expected: whether it makes anything late, by the catalogue; false where the right answer is
    that nothing is. late: the late activations in which it acted, by its log; None where that has
    only when it began. place: among the causes called, 0 the first; None: not called. rank: among
    all causes that the answer has, called or not; None: it has it not at all. right: the
    answer's lines that name it. share: the true one, None where its log does not tell. windows,
    windows_right: those that were recorded whole, and those of them in which the time located is
    right; their number is 0 where the log does not tell.
    """

    name: str
    expected: bool
    acted: int
    late: int | None
    place: int | None
    rank: int | None
    right: list[int]
    share: float | None
    mean_ns: float | None
    windows: int
    windows_right: int
    worst_ns: int

    @property
    def is_findable(self) -> bool:
        """Whether it is expected to make something late, and did."""
        return self.expected and self.late != 0

    def interval(self, shares: Sequence[Share]) -> tuple[float, float] | None:
        """Return the interval that the answer prints for it, of all lines that name it."""
        lines = [shares[i] for i in self.right]
        if not lines or any(line.low is None or line.high is None for line in lines):
            return None
        return sum(line.low or 0.0 for line in lines), sum(line.high or 0.0 for line in lines)


class Marked(msgspec.Struct, frozen=True):
    """A case with its answer."""

    case: str
    rig: str
    board: str
    rt: bool
    size: float
    digest: str
    threshold_ns: int
    episodes: int
    recorded: int
    control: int
    shares: list[Share]
    causes: list[TrueFault]
    unexplained: float
    unexplained_p95: float
    why_not: str | None = None

    @property
    def significant(self) -> list[Share]:
        """What is called that somebody could do away with, the largest share first."""
        return [share for share in self.shares if is_called(share)]


def is_called(share: Share) -> bool:
    """Whether a line calls a cause that is more than an activation's own way."""
    return share.significant and Named(share.cause) not in OWN_WAY


def mark(case: Case) -> Marked:
    """Explain a case that was made, and mark the answer; raises RunFailedError."""
    recording = open_made(case)
    explained = explain_recording(recording, worst=1 << 30)
    logs = unpack((recording_path(case) / FAULTS).read_bytes()) if case.causes else []
    shares = (
        [_share(share) for share in explained.population.causes] if explained.population else []
    )
    weighted, p95 = unexplained_share(explained)
    found = explained.population
    return Marked(
        case=case.name,
        rig=case.rig.name,
        board=case.rig.board,
        rt=case.rig.rt,
        size=case.size,
        digest=recording.manifest.samples_sha256 or "",
        threshold_ns=explained.threshold_ns,
        episodes=found.episodes if found else 0,
        recorded=found.recorded if found else 0,
        control=found.control if found else 0,
        shares=shares,
        causes=[_true(case, log, recording, explained, shares) for log in logs],
        unexplained=weighted,
        unexplained_p95=p95,
        why_not=explained.why_not,
    )


def _share(share: CauseShare) -> Share:
    return Share(
        share.cause.value,
        share.detail,
        share.share,
        share.low,
        share.high,
        share.mean_ns,
        share.significant,
    )


def names_it(pieces: Sequence[str], alias: str, cause: str, detail: str) -> bool:
    """Whether a piece with that cause and detail is one of a right answer's."""
    for piece in pieces:
        kind = next((k for k in Named if piece == k or piece.startswith(f"{k} ")), None)
        within = piece[len(kind) + 1 :].replace("{alias}", alias) if kind else ""
        if kind == cause and within in detail:
            return True
    return False


def _true(
    case: Case,
    log: FaultLog,
    recording: Recording,
    explained: Explained,
    shares: Sequence[Share],
) -> TrueFault:
    entry = fault(log.fault.name)
    pieces = entry.right_answer(rt=case.rig.rt).pieces
    significant = [share for share in shares if is_called(share)]
    right = [
        i
        for i, share in enumerate(shares)
        if names_it(pieces, log.alias, share.cause, share.detail)
    ]
    place = next(
        (
            i
            for i, share in enumerate(significant)
            if names_it(pieces, log.alias, share.cause, share.detail)
        ),
        None,
    )
    causes = [i for i, share in enumerate(shares) if Named(share.cause) not in NO_CAUSE]
    told = entry.log == "acts" and bool(pieces) and explained.population is not None
    truth = _known(log, recording, explained.threshold_ns) if told else None
    errors = []
    if truth is not None:
        for story in explained.worst:
            activation = story.breakdown
            acted = truth.acted_ns.get(activation.activation)
            if acted is not None and _is_whole(activation):
                errors.append((_located(activation, pieces, log.alias) - acted, acted))
    wrong = [abs(error) > max(WINDOW_PART * acted, WINDOW_NS) for error, acted in errors]
    return TrueFault(
        name=entry.name,
        expected=bool(pieces),
        acted=len(log.events),
        late=acted_in(log, recording.samples[0], explained.threshold_ns)
        if entry.log != "begins"
        else None,
        place=place,
        rank=next((rank for rank, i in enumerate(causes) if i in right), None),
        right=right,
        share=truth.share if truth else None,
        mean_ns=truth.mean_ns if truth else None,
        windows=len(errors),
        windows_right=len(errors) - sum(wrong),
        worst_ns=max((abs(error) for error, _ in errors), default=0),
    )


def _known(log: FaultLog, recording: Recording, threshold_ns: int) -> Known | None:
    try:
        return known(log, recording.samples[0], threshold_ns)
    except ValueError:
        return None


def _is_whole(breakdown: Breakdown) -> bool:
    return breakdown.pieces is not None and all(
        piece.cause is not Named.NOT_OBSERVED for piece in breakdown.pieces
    )


def _located(breakdown: Breakdown, pieces: Sequence[str], alias: str) -> int:
    return sum(
        piece.length_ns
        for piece in breakdown.pieces or ()
        if names_it(pieces, alias, piece.cause, piece.detail)
    )
