"""Whoever is told of a study in a test."""

from __future__ import annotations

from whylate.run.progress import Observer, Quiet


class Telling:
    """Keeps what is said of a study."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def observer(self, board: str) -> Observer:
        del board
        return Quiet()

    def begins(self, place: object) -> None:
        """Ignore it."""

    def stands(self, standings: object) -> None:
        """Ignore it."""

    def says(self, text: str) -> None:
        self.said.append(text)
