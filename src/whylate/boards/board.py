"""What a board is to the rest of whylate: something a probe can be started on."""

from __future__ import annotations

from typing import Protocol

from whylate.probe.binaries import ProbeBinary
from whylate.probe.client import Stream


class BoardError(Exception):
    """A board that cannot be used, and what to do about it."""


class Board(Protocol):
    """A machine under test."""

    @property
    def name(self) -> str:
        """The name by which the user calls it."""

    @property
    def binary(self) -> ProbeBinary:
        """The probe that runs there."""

    def start_probe(self) -> Stream:
        """Start the probe and return the stream to it; raises BoardError."""
