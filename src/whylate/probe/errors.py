"""The errors of a session with a probe."""

from __future__ import annotations


class ProbeError(Exception):
    """The probe could not execute a command."""


class ProbeGoneError(ProbeError):
    """The stream to the probe has ended."""


class ProbeTimeoutError(ProbeError):
    """The probe did not answer in time."""


class ProbeFloodError(ProbeError):
    """The board sent more than a probe does."""


class ProbeRefusedError(ProbeError):
    """The probe refused a command, with the reason."""

    def __init__(self, text: str, error: int) -> None:
        super().__init__(text)
        #: An errno of the board.
        self.error = error


class ProbeVersionError(ProbeError):
    """The probe speaks another version of the protocol, or is of another whylate."""
