"""A labgrid power driver as a board's supply, which is believed only as far as can be seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from whylate.boards.board import BoardError
from whylate.boards.labgrid.calls import CALL_S, bounded
from whylate.boards.power import SEQUENCER, PowerSequencer

#: A supply with a delay of its own (many PDUs have one) may take so long to do what it was told.
SWITCH_S = 6.0
#: How long a board may live on in its capacitors.
DIE_S = 6.0
_LOOK_S = 0.2
#: Whoever switches by hand needs longer.
BY_HAND_S = 600.0


class LabgridPower:
    """Any driver with labgrid's PowerProtocol.

    `alive` returns what shows that the board lives, or None; it is asked after off(), and where
    the driver does not say that the board is on: some cannot tell, and some always say no.
    `leave` is called before off(): whoever works on the board then leaves in good order.
    """

    def __init__(
        self,
        board: str,
        driver: Any,
        alive: Callable[[], str | None],
        leave: Callable[[], None],
        sequencer: PowerSequencer = SEQUENCER,
    ) -> None:
        self._board = board
        self._driver = driver
        self._alive = alive
        self._leave = leave
        self._sequencer = sequencer
        by_hand = type(driver).__name__ == "ManualPowerDriver"
        self._call_s = BY_HAND_S if by_hand else CALL_S
        self._can_tell = True

    def on(self) -> None:
        """Switch it on, when it is this board's turn. Raises BoardError."""
        self._sequencer.switch_on(lambda: self._call("on", self._driver.on))
        if not self._comes_to(on=True):
            # Some relays always read back off. Whether the board is on shows when it boots.
            self._can_tell = False

    def off(self) -> None:
        """Cut it off and see that it is; raises BoardError where the board lives on."""
        self._leave()
        self._call("off", self._driver.off)
        if not self._comes_to(on=False):
            raise BoardError(
                f"{self._board}: its supply was switched off and says that it is still on: "
                f"the relay sticks, or somebody else switches it ({self._name})"
            )
        deadline = time.monotonic() + DIE_S
        while (sign := self._alive()) is not None:
            if time.monotonic() > deadline:
                raise BoardError(
                    f"{self._board} is still on although its supply was switched off: {sign}; the "
                    f"relay sticks, or it is another board's ({self._name})"
                )

    def is_on(self) -> bool | None:
        """Whether the board is on; None where it cannot be told. Raises BoardError.

        It is where the supply says so or the board shows it; off only where the supply says so.
        """
        says = self._says()
        return says if says or self._alive() is None else True

    def _says(self) -> bool | None:
        """Whether the supply says that it is on; None where it cannot tell. Raises BoardError."""
        get = getattr(self._driver, "get", None)
        if get is None or not self._can_tell:
            return None
        state = bounded(f"{self._board}: asking its supply ({self._name})", get, self._call_s)
        return state if isinstance(state, bool) else None

    @property
    def _name(self) -> str:
        return type(self._driver).__name__

    def _call(self, state: str, switch: Callable[[], object]) -> None:
        bounded(f"{self._board}: switching its supply {state} ({self._name})", switch, self._call_s)

    def _comes_to(self, *, on: bool) -> bool:
        """Whether it is so within its time; believed where the supply cannot tell."""
        deadline = time.monotonic() + SWITCH_S
        while (state := self._says()) is not None and state is not on:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True
