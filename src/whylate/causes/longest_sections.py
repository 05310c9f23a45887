"""The longest section of a thread of lower priority that an activation can have waited for.

Before its interrupt an activation waits for interrupts to be enabled, after it for preemption.
Interrupts that wait come as soon as they are enabled, and then the thread of lower priority goes on
only to the end of the outermost section that it is in. So both belong to one section, and what
follows a part with interrupts disabled is known by the code that enabled them: each activation that
came due there has seen all that followed. A section whose interrupts are disabled from its begin
may be seen as either: its activations count as both, but not together.

They are taken together, with the longest of each, where that is not known: without the name of that
code, where it was seen few times, and in a softirq, after which what it interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.timeline import Level, Segment

#: Activations that show what follows a part with interrupts disabled: of what none of them saw, the
#: next has less than 1 in 7 (the rule of three).
_ENOUGH = 20


@dataclass
class _Seen:
    """Activations that waited for one code. off_ns: before their interrupt; after_ns: after it."""

    activations: int = 0
    off_ns: int = 0
    after_ns: int = 0

    def add(self, off_ns: int, after_ns: int) -> None:
        self.activations += 1
        self.off_ns = max(self.off_ns, off_ns)
        self.after_ns = max(self.after_ns, after_ns)


@dataclass
class LongestSections:
    """Collects the sections of activations, by the code that enabled interrupts; "": not known."""

    _by_code: dict[str, _Seen] = field(default_factory=dict)
    _all: _Seen = field(default_factory=_Seen)

    def add(self, pieces: Sequence[Piece], segments: Sequence[Segment]) -> None:
        """Add an activation: its pieces, and the segments of its window."""
        off = [piece for piece in pieces if piece.cause is Cause.INTERRUPTS_DISABLED]
        off_ns = sum(piece.length_ns for piece in off)
        after_ns = sum(
            piece.length_ns for piece in pieces if piece.cause is Cause.PREEMPTION_DISABLED
        )
        self._all.add(off_ns, after_ns)
        if off:
            self._by_code.setdefault(_code(off, segments), _Seen()).add(off_ns, after_ns)

    def worst(self, sampled_ns: Mapping[Cause, int]) -> dict[Cause, int]:
        """Return the parts of the longest section, ns.

        sampled_ns: the longest sections as a whole, where they were measured. They have no name
        here: interrupts disabled count with the longest of what may follow, and a longer section
        with preemption disabled than any seen here with the longest of both.
        """
        off_ns = sampled_ns.get(Cause.INTERRUPTS_DISABLED, 0)
        after_ns = sampled_ns.get(Cause.PREEMPTION_DISABLED, 0)
        if after_ns > self._all.after_ns:
            parts = max(off_ns, self._all.off_ns), after_ns
        else:
            sampled = [(off_ns, self._all.after_ns)] if off_ns else []
            parts = max([(0, self._all.after_ns), *sampled, *self._combined()], key=sum)
        causes = Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED
        return {cause: ns for cause, ns in zip(causes, parts, strict=True) if ns}

    def _combined(self) -> list[tuple[int, int]]:
        return [
            (
                seen.off_ns,
                seen.after_ns if code and seen.activations >= _ENOUGH else self._all.after_ns,
            )
            for code, seen in self._by_code.items()
        ]


def _code(off: Sequence[Piece], segments: Sequence[Segment]) -> str:
    """Return the code that enabled interrupts; "" where it is not known, or not a thread's."""
    names = {piece.detail for piece in off}
    in_softirq = any(
        segment.level is Level.SOFTIRQ
        and segment.start_ns < piece.end_ns
        and piece.start_ns < segment.end_ns
        for piece in off
        for segment in segments
    )
    return "" if in_softirq or len(names) > 1 else names.pop()
