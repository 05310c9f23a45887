"""The host's end of a session with a probe, over any byte stream."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from whylate import __version__
from whylate.probe.budget import COMMANDS, HELLO, Budget, Spent
from whylate.probe.errors import (
    ProbeFloodError,
    ProbeGoneError,
    ProbeRefusedError,
    ProbeTimeoutError,
    ProbeVersionError,
)
from whylate.probe.link import Link
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    MESSAGES,
    PROTOCOL,
    Done,
    Failed,
    Finish,
    Hello,
    Keepalive,
    LoadDevice,
    LoadWork,
    Message,
    Note,
    Progress,
    Welcome,
)

#: How long a command may take that the probe executes at once.
COMMAND_S = 30.0
#: Unanswered commands. A serial line that is full in both directions would deadlock.
WINDOW = 32
#: How long to wait for bytes before the link's timers run.
TURN_S = 0.05
#: How long the other end's last bytes may take to arrive after it has closed.
LAST_WORDS_S = 1.0
#: The probe answers this often whether it lives, whatever it measures.
PING_S = 10.0
#: After this long without a word it does not: a busy board may keep it from its CPU.
ALIVE_S = 600.0
#: What to do about a board that sends what no probe sends.
NO_PROBE = "power the board off and on, and see what else uses its line"
#: Messages that come by themselves: they answer no command, and are no progress.
UNASKED = (Progress, LoadWork, LoadDevice, Note, Welcome)
#: Writing timed out: the other end does not read.
STUCK = "the line accepts nothing any more (does the board hang?)"


class Stream(Protocol):
    """A byte stream to a probe, however far away."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""

    def read(self, size: int) -> bytes:
        """Return what has arrived, at most `size` bytes; empty at the end of the stream."""

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError when the other end is gone."""

    def close(self) -> None:
        """Hang up, and wait until the other end has ended where that is visible."""


class Client:
    """A session with a probe.

    `on_message` is called with every message in the order in which the probe sent them, before the
    waiting call gets it: samples and progress come while a command is awaited.
    """

    def __init__(
        self, stream: Stream, on_message: Callable[[Frame, Message], None] | None = None
    ) -> None:
        self._stream = stream
        self._link = Link(stream.write)
        self.on_message = on_message
        self.ended = False
        self._heard_at = time.monotonic()
        self._keepalive_s = 0.0
        self._sent_at = 0.0
        self._pinged_at = time.monotonic()
        self._spent = Spent(COMMANDS)
        #: What was wrong with the first message that was not delivered; "" while there is none.
        self.malformed = ""

    def enter(self, budget: Budget) -> None:
        """Begin a phase: what the board sends from now on is charged to this budget."""
        counts = self._link.frame_counts
        self._spent = Spent(budget, frames_before=counts.good, sound_before=counts.sound_bytes)

    @property
    def link(self) -> Link:
        """The link, for its counts."""
        return self._link

    def hello(self, timeout_s: float = COMMAND_S) -> Welcome:
        """Send our version and return the probe's answer.

        Raises ProbeVersionError for a probe of another version, ProbeGoneError, ProbeFloodError,
        and ProbeTimeoutError.
        """
        self.enter(HELLO)
        self._send(Hello(__version__))
        deadline = time.monotonic() + timeout_s
        while True:
            for message in self.pump(TURN_S):
                if not isinstance(message, Welcome):
                    continue
                if message.version != __version__:
                    raise ProbeVersionError(
                        f"the probe is of whylate {message.version[:40]!r}, this is "
                        f"{__version__}: run the probe that came with this whylate"
                    )
                self.enter(COMMANDS)
                return message
            self._check(deadline, "say hello")

    def call(self, command: Message, timeout_s: float = COMMAND_S) -> list[Message]:
        """Send a command and return all messages up to its `done`.

        Raises ProbeRefusedError with the probe's reason, ProbeGoneError, ProbeTimeoutError, and
        ProbeFloodError.
        """
        got: list[Message] = []
        self.call_all([command], got.append, timeout_s)
        return got

    def call_all(
        self,
        commands: Sequence[Message],
        receive: Callable[[Message], object],
        timeout_s: float = COMMAND_S,
    ) -> None:
        """Send commands without waiting for the answers between them.

        Passes every message up to the last `done` to `receive`. timeout_s: without any answer.
        Raises like call(), at the first refused command.
        """
        left = deque(commands)
        numbers: set[int] = set()
        deadline = time.monotonic() + timeout_s
        while left or numbers:
            while left and len(numbers) < WINDOW:
                numbers.add(self._send(left.popleft()))
            for message in self.pump(TURN_S):
                if not isinstance(message, UNASKED):
                    deadline = time.monotonic() + timeout_s
                if isinstance(message, Failed) and message.command in numbers:
                    raise ProbeRefusedError(message.text, message.error)
                if isinstance(message, Done):
                    numbers.discard(message.command)
                else:
                    receive(message)
            self._check(deadline, f"answer {type(commands[0]).__name__.lower()}")

    def begin(self, command: Message) -> int:
        """Send a command and return its number, which its answer has.

        The caller pumps for the answer; raises ProbeGoneError.
        """
        return self._send(command)

    def silent_for(self) -> float:
        """Return the seconds since the last samples or answers came."""
        return time.monotonic() - self._heard_at

    def check_alive(self) -> None:
        """Ask the probe now and then whether it lives; raises ProbeTimeoutError if it does not."""
        now = time.monotonic()
        if now - self._pinged_at > PING_S:
            self._pinged_at = now
            self._link.ping()
        if now - self._link.heard_at > ALIVE_S:
            raise ProbeTimeoutError(f"the board has been silent for {ALIVE_S:.0f} s: it hangs")

    def keepalive(self, timeout_s: float) -> None:
        """Make the probe end after this much silence; 0: never.

        For lines whose end the probe cannot see, such as a serial one. pump() then sends
        keepalives, so that the probe ends only if the host is gone or hangs.
        """
        if not timeout_s and not self._keepalive_s:
            return
        self._keepalive_s = timeout_s
        self._sent_at = time.monotonic()
        self._send(Keepalive(int(timeout_s * 1000)))

    def finish(self, timeout_s: float = COMMAND_S) -> None:
        """End loads and restore settings; raises like call()."""
        self.call(Finish(), timeout_s)

    def pump(self, timeout_s: float) -> list[Message]:
        """Wait up to timeout_s for bytes, and return the messages that they complete.

        Raises ProbeGoneError once the stream has ended and everything it held was returned,
        ProbeFloodError and ProbeTimeoutError when the budget of the phase is spent.
        """
        if self.ended:
            raise ProbeGoneError(f"the probe is gone: {self._describe_end()}")
        if self._link.busy:
            timeout_s = min(timeout_s, TURN_S)
        if self._keepalive_s and time.monotonic() - self._sent_at > self._keepalive_s / 4:
            self.keepalive(self._keepalive_s)
        ready, _, _ = select.select([self._stream.fileno()], [], [], timeout_s)
        frames = self._read() if ready else self._link.tick()
        # It closed its end while we wrote: what it sent before may still be readable.
        while self._link.broken and not self.ended:
            ready, _, _ = select.select([self._stream.fileno()], [], [], LAST_WORDS_S)
            frames += self._read() if ready else self._end()
        messages = [m for frame in frames if (m := self._decode(frame)) is not None]
        self._check_budget()
        return messages

    def _check_budget(self) -> None:
        excess = self._spent.excess(self._link.frame_counts)
        if excess is not None:
            raise ProbeFloodError(f"{excess}; {NO_PROBE}")
        if self._spent.over_time():
            budget = self._spent.budget
            raise ProbeTimeoutError(
                f"the board did not end within {budget.seconds:.0f} s while it {budget.phase}"
            )

    def _describe_end(self) -> str:
        """Return why the line has ended, as far as that is known."""
        words = getattr(self._stream, "last_words", None)
        last = words() if callable(words) else ""
        text = last.decode("utf-8", "replace") if isinstance(last, bytes) else str(last)
        clean = "".join(c if c.isprintable() else " " for c in text).strip()[:300]
        if not clean and isinstance(self._link.broken, TimeoutError):
            return STUCK
        return clean or "it was killed, or the connection to the board broke"

    def _read(self) -> list[Frame]:
        """Return the frames that the arrived bytes complete; at the end those that waited."""
        data = b""
        with contextlib.suppress(OSError):
            data = self._stream.read(1 << 16)
        if data:
            frames = self._link.receive(data)
            self._spent.receive(data, self._link.frame_counts)
            return frames
        return self._end()

    def _end(self) -> list[Frame]:
        """Return the frames that waited for others, which are lost."""
        self.ended = True
        return self._link.abandon()

    def _decode(self, frame: Frame) -> Message | None:
        kind = MESSAGES.get(frame.kind)
        self._spent.kinds[kind.__name__ if kind is not None else "unknown"] += 1
        try:
            if kind is None:
                raise WireError(f"there is no message {frame.kind}")
            message = kind.unpack(frame.payload)
        except WireError as error:
            self._link.counts.malformed += 1
            self.malformed = self.malformed or str(error)
            return None
        if not isinstance(message, UNASKED):
            self._heard_at = time.monotonic()
        if self.on_message is not None:
            self.on_message(frame, message)
        return message

    def _send(self, message: Message) -> int:
        try:
            return self._link.send(message)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else STUCK
            raise ProbeGoneError(f"the probe is gone: {why}") from None
        except WireError as error:
            raise ProbeRefusedError(f"that is more than the probe accepts: {error}", 0) from None

    def _check(self, deadline: float, what: str) -> None:
        protocol = self._link.peer_protocol
        if protocol is not None:
            raise ProbeVersionError(
                f"the probe speaks protocol {protocol}, this whylate {PROTOCOL}: "
                "run the probe that came with this whylate"
            )
        if time.monotonic() > deadline:
            counts = self._link.frame_counts
            heard = f": {self._spent.junk(counts)}" if self._spent.heard_junk(counts) else ""
            raise ProbeTimeoutError(f"the probe did not {what} in time{heard}")
