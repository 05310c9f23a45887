"""A user's command that brings a hybrid onto a board, and says which differences it took.

It is run while the board is off, with the path of a JSON file as its last word: the hybrid's tar,
and for each item its ids, name, kind, both values and which side is chosen. It prints the id of
each difference that it took, a line each; what it does not print stays as on the base, and is known
to: no hybrid counts as one that it is not.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

import numpy as np

from whylate.bisect.images.items import Item
from whylate.bisect.images.store import Made
from whylate.bisect.outcome import NoOutcomeError
from whylate.boards.board import Board, Notify
from whylate.boards.errors import BoardError
from whylate.boards.ready import Boot
from whylate.recording.errors import DiskError
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid
from whylate.text import plain

#: A command that runs for longer is stopped, s.
LONGEST_S = 3600
#: Bytes of its output that are read.
_MOST = 4 << 20


class Command:
    """The command for one hybrid. words: of the command, run without a shell."""

    def __init__(
        self, words: Sequence[str], items: Sequence[Item], made: Made, hybrid: Hybrid
    ) -> None:
        self._words = list(words)
        self._items = items
        self._made = made
        self._chosen = hybrid.in_force
        self._base_second = hybrid.fast_base
        self._in_force: Bools | None = None

    def run(self, board: str) -> None:
        """Run it; raises BoardError where it fails, and DiskError."""
        self._in_force = None
        path = self._made.path.with_suffix(".json")
        try:
            path.write_text(json.dumps(self._document(), indent=1))
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
        environment = dict(os.environ) | {
            "WHYLATE_BOARD": board,
            "WHYLATE_HYBRID": str(self._made.path.resolve()),
        }
        try:
            done = subprocess.run(
                [*self._words, str(path.resolve())], env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=LONGEST_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BoardError(f"--apply took more than {LONGEST_S // 60} min") from None
        except OSError as error:
            name = plain(self._words[0], 100)
            raise BoardError(f"--apply: {name} cannot be run: {error.strerror}") from None
        finally:
            path.unlink(missing_ok=True)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            reason = plain(lines[-1], 300) if lines else "it printed no reason"
            raise BoardError(f"--apply failed ({done.returncode}): {reason}")
        self._in_force = self._taken(done.stdout[:_MOST].decode(errors="replace").split())

    def in_force(self) -> Bools:
        """Return the items that are as in the second root; raises NoOutcomeError if none did."""
        if self._in_force is None:
            raise NoOutcomeError("--apply was not run")
        return self._in_force

    def _taken(self, printed: Sequence[str]) -> Bools:
        """Return what is in force; raises BoardError for an id that is not in the file."""
        base = np.full(len(self._items), self._base_second)
        # Differences from the base are what a command takes.
        wanted = np.flatnonzero(self._chosen != base).tolist()
        ids = {member.id for place in wanted for member in self._items[place].members}
        taken = set(printed)
        if unknown := sorted(taken - ids):
            raise BoardError(f"--apply printed {plain(unknown[0], 80)!r}, which it was not given")
        in_force = base
        for place in wanted:
            members = {member.id for member in self._items[place].members}
            if members <= taken:
                in_force[place] = self._chosen[place]
            elif members & taken:
                raise BoardError(
                    f"--apply took {plain(self._items[place].name, 100)} in part, which cannot be "
                    "set apart"
                )
        return in_force

    def _document(self) -> dict[str, object]:
        base = "second" if self._base_second else "first"
        return {
            "format": "whylate-hybrid",
            "version": 1,
            "hybrid": str(self._made.path.resolve()),
            "base": base,
            "chosen": [
                {
                    "id": member.id,
                    "kind": member.kind.value,
                    "name": member.name,
                    "value": member.second if self._chosen[place] else member.first,
                    "target": member.means.target,
                }
                for place, item in enumerate(self._items)
                if self._chosen[place] != self._base_second
                for member in item.members
            ],
        }


def boot_after(command: Command) -> Boot:
    """Return what switches a board off, runs the command, and boots the board."""

    def boot(board: Board, notify: Notify) -> None:
        if board.power is not None:
            board.power.off()
        notify("--apply")
        command.run(board.name)
        board.boot(notify)

    return boot
