"""What the probe does on the board besides measuring: run a command, put a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import xxhash

from whylate.probe.client import COMMAND_S, Client
from whylate.probe.errors import ProbeError
from whylate.wire.constants import OutputStream
from whylate.wire.messages import Message, Put, Run, RunEnded, RunOutput

#: Default limit on the bytes of output that are sent.
OUTPUT_LIMIT = 1 << 20
#: Bytes of a file in one message: with the path they fit into the largest payload.
PIECE = 3072


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command on the board ended, and what it wrote.

    status is the exit status; signal is not 0 where a signal ended the command. omitted counts the
    bytes of output beyond the limit.
    """

    status: int
    signal: int
    timed_out: bool
    stdout: bytes
    stderr: bytes
    omitted: int
    wall_ns: int

    @property
    def succeeded(self) -> bool:
        """Whether the command exited with status 0."""
        return self.status == 0 and self.signal == 0


def run_command(
    client: Client,
    argv: Sequence[str],
    *,
    timeout_s: float = COMMAND_S,
    output_limit: int = OUTPUT_LIMIT,
    on_output: Callable[[bytes, bool], object] | None = None,
) -> CommandResult:
    """Run a command on the board without a shell, and return when it has ended.

    The command is killed after timeout_s (0: never), and so is whatever it leaves running.
    on_output gets each piece of output as it arrives, and whether it is standard error. Raises
    ProbeRefusedError where the command cannot be run, with the board's errno, and the other errors
    of Client.call().
    """
    pieces: dict[int, list[bytes]] = {OutputStream.STDOUT: [], OutputStream.STDERR: []}
    ended: list[RunEnded] = []

    def receive(message: Message) -> None:
        if isinstance(message, RunOutput) and message.stream in pieces:
            pieces[message.stream].append(message.data)
            if on_output is not None:
                on_output(message.data, message.stream == OutputStream.STDERR)
        elif isinstance(message, RunEnded):
            ended.append(message)

    command = Run(round(timeout_s * 1000), output_limit, tuple(argv))
    patience_s = timeout_s + COMMAND_S if timeout_s else float("inf")
    client.call_all([command], receive, patience_s)
    if not ended:
        raise ProbeError("the probe did not report how the command ended")
    return CommandResult(
        status=ended[0].status,
        signal=ended[0].signal,
        timed_out=bool(ended[0].timed_out),
        stdout=b"".join(pieces[OutputStream.STDOUT]),
        stderr=b"".join(pieces[OutputStream.STDERR]),
        omitted=ended[0].omitted,
        wall_ns=ended[0].wall_ns,
    )


def put_file(
    client: Client,
    path: str,
    data: bytes,
    *,
    mode: int = 0o644,
    on_sent: Callable[[int], object] | None = None,
) -> None:
    """Write a file on the board; it replaces the old one at `path` once it is whole and intact.

    on_sent gets the number of bytes that the board has, after each message. Raises
    ProbeRefusedError with the board's errno, and the other errors of Client.call().
    """
    pieces = list(_pieces(path, data, mode))
    written = 0
    for at in range(0, len(pieces), 16):
        batch = pieces[at : at + 16]
        client.call_all(batch, lambda _: None)
        written += sum(len(piece.data) for piece in batch)
        if on_sent is not None:
            on_sent(written)


def _pieces(path: str, data: bytes, mode: int) -> Iterator[Put]:
    checksum = xxhash.xxh64_intdigest(data)
    for offset in range(0, len(data) or 1, PIECE):
        piece = data[offset : offset + PIECE]
        yield Put(path, mode, len(data), offset, checksum, piece)
