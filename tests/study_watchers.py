"""Whoever is told of a study in a test."""

from __future__ import annotations

from whylate.run.progress import Observer, Quiet


class StudyLog:
    """Keeps what is said of a study."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def observer(self, board: str) -> Observer:
        del board
        return Quiet()

    def run_begins(self, place: object) -> None:
        """Ignore it."""

    def show_standings(self, standings: object) -> None:
        """Ignore it."""

    def log(self, text: str) -> None:
        self.lines.append(text)
