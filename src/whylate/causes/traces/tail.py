"""The late activations and a control sample, out of any number of activations read once.

For an answer that needs no recording: activations come one by one from a trace, and what is kept of
them is bounded, however many there are.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import replace

from whylate.causes.answer import TAIL_OF, Answer, TracedActivation, explain_episodes
from whylate.causes.episodes import corrected, merge_episodes, usual_of
from whylate.causes.population import Breakdown, recorded
from whylate.causes.window.piece import Piece
from whylate.recording.activation import Activation
from whylate.recording.events import Reason
from whylate.recording.traces.cutout import CutOut

#: The slowest that are kept: enough for the slowest thousandth of eight million.
MOST_LATE = 8192
#: As many are kept from the start.
FIRST_LATE = 1024
#: Control activations, drawn at random.
CONTROLS = 2000
#: The worst whose events are kept too.
MOST_WORST = 100
#: More pieces than that are summed up by cause, except in a example.
MOST_PIECES = 64

#: Cuts a window into the pieces of an activation.
Account = Callable[[Activation, CutOut], tuple[Piece, ...]]


class Tail:
    """Takes activations one by one; gives the answer at the end.

    threshold_ns None: the slowest thousandth of all. The body is a uniform sample of all that
    were not late (Vitter's algorithm R), the same for the same trace.
    """

    def __init__(self, account: Account, threshold_ns: int | None = None, seed: int = 0) -> None:
        self._account = account
        self._threshold_ns = threshold_ns
        self._random = random.Random(seed)  # noqa: S311 (a sample, no secret)
        #: Heaps, the least late first: latency, the number's negative, and what is kept.
        self._late: list[tuple[int, int, Breakdown]] = []
        self._worst: list[tuple[int, int, TracedActivation]] = []
        self._body: list[tuple[int, Breakdown]] = []
        self.count = 0
        self.start_ns = 0
        self.end_ns = 0
        #: The slowest that was not kept, where more were late than can be.
        self._floor_ns: int | None = None

    def add(self, activation: Activation, cut: Callable[[Reason, int], CutOut]) -> None:
        """Take an activation, and what cuts out its window."""
        number = self.count
        self.count += 1
        latency = activation.latency_ns
        self.start_ns = min(self.start_ns, activation.due_ns) if number else activation.due_ns
        self.end_ns = max(self.end_ns, activation.run_ns)
        late = self._is_late(latency)
        slot = number if number < CONTROLS else self._random.randrange(number + 1)
        if not late:
            self._raise_floor(latency)
            if slot >= CONTROLS:
                return
        window = cut("tail" if late else "control", number)
        pieces = self._account(activation, window)
        breakdown = Breakdown(activation.cpu, number, activation.due_ns, latency, recorded(pieces))
        if slot < CONTROLS:
            entry = latency, summed_up(breakdown)
            if slot < len(self._body):
                self._body[slot] = entry
            else:
                self._body.append(entry)
        if late:
            self._keep(latency, number, breakdown, window)

    def _is_late(self, latency_ns: int) -> bool:
        if self._threshold_ns is not None and latency_ns <= self._threshold_ns:
            return False
        return len(self._late) < self._room() or latency_ns > self._late[0][0]

    def _raise_floor(self, latency_ns: int) -> None:
        if self._threshold_ns is None or latency_ns > self._threshold_ns:
            self._floor_ns = max(self._floor_ns or 0, latency_ns)

    def _room(self) -> int:
        """Return how many late activations are kept: four times the tail so far."""
        if self._threshold_ns is not None:
            return MOST_LATE
        return min(MOST_LATE, max(FIRST_LATE, 4 * self.count // TAIL_OF))

    def _keep(self, latency: int, number: int, breakdown: Breakdown, window: CutOut) -> None:
        entry = latency, -number, summed_up(breakdown)
        if len(self._late) < self._room():
            heapq.heappush(self._late, entry)
        else:
            self._raise_floor(heapq.heappushpop(self._late, entry)[0])
        example = latency, -number, TracedActivation(breakdown, window.window)
        if len(self._worst) < MOST_WORST:
            heapq.heappush(self._worst, example)
        else:
            heapq.heappushpop(self._worst, example)

    def answer(self, most: int, *, why_not: str, rename: Callable[[Piece], Piece]) -> Answer:
        """Return the answer; why_not: what stands there where nothing was late.

        rename: what a piece is called by what is known only now, at the end of the trace.
        """
        limit, name = self._limit()
        late = [breakdown for latency, _, breakdown in self._late if latency > limit]
        if not late:
            return Answer(limit, name, None, [], why_not)
        worst_first = sorted(self._worst, reverse=True)
        control = [_renamed(own, rename) for latency, own in self._body if latency <= limit]
        usual = usual_of(control)
        control = [corrected(own, usual) for own in control]
        together = merge_episodes(corrected(_renamed(own, rename), usual) for own in late)
        numbers = {activation.activation for activation in together}
        worst = [
            replace(example, breakdown=corrected(_renamed(example.breakdown, rename), usual))
            for _, _, example in worst_first
            if example.breakdown.activation in numbers
        ][:most]
        answer = explain_episodes(limit, name, together, control, (self.start_ns, self.end_ns))
        return replace(answer, worst=worst)

    def _limit(self) -> tuple[int, str]:
        floor = self._floor_ns
        if self._threshold_ns is not None:
            if floor is None:
                return self._threshold_ns, "as asked for"
            kept = sum(entry[0] > floor for entry in self._late)
            if kept:
                return floor, f"the slowest {kept:,}: more are above what was asked"
            # All that are kept are as late as what was not.
            return self._threshold_ns, f"{len(self._late):,} of those above what was asked"
        above = max(1, self.count // TAIL_OF)
        slowest = heapq.nlargest(above + 1, (entry[0] for entry in self._late))
        limit = slowest[above] if len(slowest) > above else 0
        return max(limit, floor or 0), "the slowest thousandth"


def summed_up(breakdown: Breakdown) -> Breakdown:
    """Return it with a piece for each cause where it has very many; their places are lost."""
    if breakdown.pieces is None or len(breakdown.pieces) <= MOST_PIECES:
        return breakdown
    at = breakdown.due_ns
    pieces = []
    for (cause, detail), length in breakdown.by_cause().items():
        pieces.append(Piece(at, at + length, cause, detail))
        at += length
    return replace(breakdown, pieces=tuple(pieces))


def _renamed(breakdown: Breakdown, rename: Callable[[Piece], Piece]) -> Breakdown:
    if breakdown.pieces is None:
        return breakdown
    return replace(breakdown, pieces=tuple(rename(piece) for piece in breakdown.pieces))
