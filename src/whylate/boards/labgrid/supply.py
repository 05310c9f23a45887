"""A labgrid power driver as a board's supply, verified by the board's signs of life."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from whylate.boards.board import BoardError
from whylate.boards.labgrid.calls import CALL_S, bounded
from whylate.boards.power import SEQUENCER, PowerSequencer

#: How long a supply may take to switch: many PDUs have a delay.
SWITCH_S = 6.0
#: How long a board may run on its capacitors.
DIE_S = 6.0
_POLL_S = 0.2
#: Switching by hand takes longer.
BY_HAND_S = 600.0


class LabgridPower:
    """Any driver with labgrid's PowerProtocol.

    `find_life` returns a sign that the board is on, or None. It is called after off(), and where
    the driver does not report the board to be on: some cannot, and some always report no.
    `before_off` is called before off(), to end work on the board in order.
    """

    def __init__(
        self,
        board: str,
        driver: Any,
        find_life: Callable[[], str | None],
        before_off: Callable[[], None],
        sequencer: PowerSequencer = SEQUENCER,
    ) -> None:
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
        self._sequencer.switch_on(lambda: self._call("on", self._driver.on))
        if not self._reaches(on=True):
            # Some relays always read back off. The boot shows whether the board is on.
            self._reports = False

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
