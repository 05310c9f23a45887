"""What a board may send in one phase of a run, and what is said when it sends more.

A board is not trusted: it may be broken, run another program on the line, or mean harm. In each
phase its bytes, messages and seconds are bounded, so that no board takes the host's memory or time.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from whylate.wire.frame import FrameCounts

MIB = 1 << 20
#: Bytes in no sound frame that any line may carry: a boot log, a login prompt, noise.
JUNK_BYTES = 4 * MIB
#: On a bad line most frames arrive damaged, and are sent again in pieces.
JUNK_PER_SOUND = 10
#: How much of what is no frame is shown.
SHOWN_BYTES = 40


@dataclass(frozen=True, slots=True)
class Budget:
    """What the board may send in a phase; `phase` completes "the board sent … while it …"."""

    phase: str
    bytes: int
    frames: int
    seconds: float


HELLO = Budget("was to say hello", 1 * MIB, 1_000, 60.0)
#: Two messages for each of 1024 CPUs; each takes a fraction of a second.
CPUS = Budget("timed its CPUs", 1 * MIB, 10_000, 600.0)
#: A serial line of 9600 baud carries 1.7 MB in that time.
FACTS = Budget("was read", 64 * MIB, 200_000, 1800.0)
PREPARE = Budget("prepared the run", 16 * MIB, 100_000, 1800.0)
LEAVE = Budget("was read after the run", 64 * MIB, 200_000, 1800.0)
#: Of each kind of names a few hundred rows of at most 4 KiB.
LIST = Budget("listed what can be timed", 8 * MIB, 10_000, 900.0)
FINISH = Budget("put back its settings", 4 * MIB, 20_000, 300.0)
#: Of a caller who names no phase: commands and files.
COMMANDS = Budget("was sent commands", 2048 * MIB, 2_000_000, float("inf"))


@dataclass(slots=True)
class Spent:
    """What of a budget is spent."""

    budget: Budget
    began: float = field(default_factory=time.monotonic)
    raw: int = 0
    #: Counts of the frame decoder at the begin.
    frames_before: int = 0
    sound_before: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    first_junk: bytes = b""

    def receive(self, data: bytes, counts: FrameCounts) -> None:
        """Count bytes that came, after the decoder had them."""
        self.raw += len(data)
        if counts.good == self.frames_before and len(self.first_junk) < SHOWN_BYTES:
            self.first_junk += data[: SHOWN_BYTES - len(self.first_junk)]

    def excess(self, counts: FrameCounts) -> str | None:
        """Return what is wrong where more was sent than the budget allows, else None."""
        sound = counts.sound_bytes - self.sound_before
        frames = counts.good - self.frames_before
        if sound > self.budget.bytes or frames > self.budget.frames:
            return (
                f"the board sent {_size(sound)} in {frames} messages{self._most()} while it "
                f"{self.budget.phase}: at most {_size(self.budget.bytes)} and "
                f"{self.budget.frames} messages are expected"
            )
        if self.raw - sound > JUNK_BYTES + JUNK_PER_SOUND * sound:
            return f"{self.junk(counts)} while it {self.budget.phase}"
        return None

    def heard_junk(self, counts: FrameCounts) -> bool:
        """Whether bytes came, and no message among them."""
        return self.raw > 0 and counts.good == self.frames_before

    def junk(self, counts: FrameCounts) -> str:
        """Return a text on the bytes that were no messages."""
        size = self.raw - (counts.sound_bytes - self.sound_before)
        text = self.first_junk.decode("utf-8", "replace")
        clean = "".join(c if c.isprintable() else "." for c in text)
        begin = f", the first of them {clean!r}" if clean else ""
        return f"the board sent {_size(size)} that are no messages of a probe{begin}"

    def over_time(self) -> bool:
        """Whether the phase has taken longer than it may."""
        return time.monotonic() - self.began > self.budget.seconds

    def _most(self) -> str:
        if not self.kinds:
            return ""
        name, count = self.kinds.most_common(1)[0]
        return f" ({count} of them {name})"


def _size(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1 << 10:
        return f"{count} bytes"
    return f"{count / 1024:.0f} KiB" if count < MIB else f"{count / MIB:.1f} MiB"
