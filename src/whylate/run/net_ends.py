"""The other ends of a run's net:HOST loads: processes that begin and end with it."""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from whylate.recording.device_loads import NIC, NetLoad, parse_net
from whylate.recording.plan import LoadPlan
from whylate.run.errors import RequestError
from whylate.starting import kill_and_reap, signals_wait

#: The host of a virtual board, as the board sees it (QEMU's user network).
VIRTUAL_HOST = "10.0.2.2"
_START_S = 20.0
#: The words that the board's end gets, by the load's number.
Arguments = dict[int, tuple[str, ...]]


@contextmanager
def net_ends(loads: Sequence[LoadPlan]) -> Iterator[Arguments]:
    """Have the other ends during the context; raises RequestError where one cannot start."""
    with contextlib.ExitStack() as stack:
        yield {
            index: stack.enter_context(_end(parse_net(load.command)))
            for index, load in enumerate(loads)
            if load.kind == NIC and load.command is not None
        }


@contextmanager
def _end(load: NetLoad) -> Iterator[tuple[str, ...]]:
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "whylate.run.net_peer", _listen_address(load.host)]
    with contextlib.ExitStack() as started:
        with signals_wait():
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            started.callback(kill_and_reap, process)
        port = _start(process, token)
        if not port.isdecimal():
            raise RequestError(f"the other end of net:{load.host} could not start here")
        yield (load.host, port, token, load.protocol, str(load.in_bits_s),
               str(load.out_bits_s), str(load.size))  # fmt: skip


def _start(process: subprocess.Popen[str], token: str) -> str:
    """Return the port that a process listens on; "" where it did not start."""
    if process.stdin is None or process.stdout is None:
        return ""
    with contextlib.suppress(OSError):
        process.stdin.write(f"{token}\n")
        process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], _START_S)
    return process.stdout.readline().strip() if ready else ""


def _listen_address(host: str) -> str:
    """Return the address to listen on: no wider than it needs to be."""
    if host == VIRTUAL_HOST:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attempt:
        try:
            attempt.bind((host, 0))
        except OSError:
            # An address that is translated on the way.
            return "0.0.0.0"  # noqa: S104
    return host
