"""A labgrid power driver as a board's supply, verified by the board's signs of life."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whylate.boards.board import Notify, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.labgrid.calls import CALL_S, bounded
from whylate.boards.labgrid.line import DriverChannel
from whylate.boards.power import SEQUENCER, PowerSequencer
from whylate.boards.ssh import SshBoard
from whylate.text import clean

#: How long a supply may take to switch: many PDUs have a delay.
SWITCH_S = 6.0
#: How long a board may run on its capacitors.
DIE_S = 6.0
_POLL_S = 0.2
#: A board that waits less for its turn does not wait for another board.
_SHOWN_S = 0.1
#: Switching by hand takes longer.
BY_HAND_S = 600.0


class LabgridPower:
    """Any driver with labgrid's PowerProtocol.

    `find_life` returns a sign that the board is on, or None. It is called after off(), and where
    the driver does not report the board to be on: some cannot, and some always report no.
    `before_off` is called before off(), to end work on the board in order. `note` is called after
    the supply was switched, with whether it is on. `notify` shows that on() waited for its turn.
    """

    def __init__(
        self,
        board: str,
        driver: Any,
        find_life: Callable[[], str | None],
        before_off: Callable[[], None],
        sequencer: PowerSequencer = SEQUENCER,
        note: Callable[[bool], None] | None = None,
        notify: Notify = notify_nobody,
    ) -> None:
        self._notify = notify
        self._note = note
        self._board = board
        self._driver = driver
        self._find_life = find_life
        self._before_off = before_off
        self._sequencer = sequencer
        by_hand = type(driver).__name__ == "ManualPowerDriver"
        self._call_s = BY_HAND_S if by_hand else CALL_S
        self._reports = True

    def on(self) -> None:
        """Switch it on, when it is this board's turn. Raises BoardError."""
        awaited_s = self._sequencer.switch_on(lambda: self._call("on", self._driver.on))
        if awaited_s >= _SHOWN_S:
            self._notify(
                f"{self._board} was switched on after {awaited_s:.1f} s: between two boards lies "
                f"{self._sequencer.settle_s:g} s"
            )
        if not self._reaches(on=True):
            # Some relays always read back off. The boot shows whether the board is on.
            self._reports = False
        self._note_switched(on=True)

    def off(self) -> None:
        """Switch it off and verify that; raises BoardError where the board stays on."""
        self._before_off()
        self._call("off", self._driver.off)
        if not self._reaches(on=False):
            raise BoardError(
                f"{self._board}: its supply was switched off but reports that it is on: "
                f"the relay sticks, or somebody else switches it ({self._name})"
            )
        deadline = time.monotonic() + DIE_S
        while (sign := self._find_life()) is not None:
            if time.monotonic() > deadline:
                raise BoardError(
                    f"{self._board} is still on although its supply was switched off: {sign}; the "
                    f"relay sticks, or it is another board's ({self._name})"
                )
        self._note_switched(on=False)

    def is_on(self) -> bool | None:
        """Return whether the board is on; None where that is unknown. Raises BoardError.

        On if the supply reports it or the board shows it; off only if the supply reports it.
        """
        reported = self._reported_state()
        return reported if reported or self._find_life() is None else True

    def _reported_state(self) -> bool | None:
        """Return whether the supply reports to be on; None if unknown. Raises BoardError."""
        get = getattr(self._driver, "get", None)
        if get is None or not self._reports:
            return None
        state = bounded(f"{self._board}: reading its supply ({self._name})", get, self._call_s)
        return state if isinstance(state, bool) else None

    def _note_switched(self, *, on: bool) -> None:
        if self._note is not None:
            self._note(on)

    @property
    def _name(self) -> str:
        return type(self._driver).__name__

    def _call(self, state: str, switch: Callable[[], object]) -> None:
        bounded(f"{self._board}: switching its supply {state} ({self._name})", switch, self._call_s)

    def _reaches(self, *, on: bool) -> bool:
        """Return whether the supply reports that state in time, or reports none."""
        deadline = time.monotonic() + SWITCH_S
        while (state := self._reported_state()) is not None and state is not on:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True


#: A board without power may still finish a line; and an answer to Enter comes within this.
ECHO_S = 0.7
_TAIL = 1000


def find_life(channel: DriverChannel | None, ssh: SshBoard | None) -> str | None:
    """Return the sign that the board is on, or None: it may be off, or hang.

    Types Enter on the console: an idle shell, or a login prompt, answers.
    """
    if ssh is not None and ssh.why_silent() is None:
        return "its SSH server still answers"
    if channel is None:
        return None
    time.sleep(ECHO_S)
    before = channel.received
    channel.clear()
    with contextlib.suppress(OSError):
        channel.write(b"\r")
    time.sleep(ECHO_S)
    if channel.received > before and channel.has_text():
        return "its console still answers"
    return None


def last_words(log: Path | None) -> str:
    """Return the end of a console's log as the end of an error message, safe to show."""
    if log is None:
        return ""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
        words = [shown for line in lines if (shown := clean(line, 120))]
        if words:
            return f"; its console's last words: {' | '.join(words[-3:])}"
    return "; its console printed nothing"
