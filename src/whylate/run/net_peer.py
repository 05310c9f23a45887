"""The other end of the load net:HOST, in a process of its own: sends to the board, and counts.

It reads a token from standard input, listens on the address in its arguments, writes the port, and
ends with its standard input. The board's end (probe/src/loads/nic.c) opens a connection whose first
line is `TOKEN control udp|tcp BITS_S SIZE`, and with tcp a second one, `TOKEN data`. The bytes that
arrived here are reported over the first, as 8 bytes, several times a second. Whatever comes without
the token is dropped.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field

_REPORT_S = 0.2
_TURN_S = 0.001
#: What is later than this is not made up for.
_LATE_S = 0.1
_LINE_S = 5.0
_LONGEST_LINE = 128
_TRIES = 20
#: Of connections at once: the board has two, and whoever else finds the port gets no more threads.
_MOST_CONNECTIONS = 16
#: Of what the board's end may ask for, as in probe/src/loads/nic.c.
_SIZES = range(32, 65_507 + 1)
_HIGHEST_BITS_S = 100 * 10**9


@dataclass
class _End:
    """Sockets of one load, and what arrived."""

    token: bytes
    udp: socket.socket
    received: int = 0
    bits_s: int = 0
    size: int = 0
    target: tuple[str, int] | None = None
    data: socket.socket | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    is_sending: bool = False
    #: The address that a connection with the token came from: datagrams go to no other.
    peer: str = ""
    free: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_MOST_CONNECTIONS)
    )


def main() -> None:
    """Serve one load until standard input ends."""
    token = sys.stdin.readline().strip().encode()
    tcp, udp = _listen(sys.argv[1])
    end = _End(token, udp)
    print(tcp.getsockname()[1], flush=True)  # noqa: T201
    for body in (lambda: _accept(tcp, end), lambda: _receive_datagrams(end)):
        threading.Thread(target=body, daemon=True).start()
    sys.stdin.read()
    # Threads are in system calls that nothing ends.
    os._exit(0)


def _listen(address: str) -> tuple[socket.socket, socket.socket]:
    """Return sockets of TCP and of UDP with one port."""
    for _ in range(_TRIES):
        tcp = socket.create_server((address, 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            tcp.close()
            udp.close()
            continue
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        return tcp, udp
    raise OSError("no port is free for both TCP and UDP")


def _accept(tcp: socket.socket, end: _End) -> None:
    while True:
        connection, _ = tcp.accept()
        if not end.free.acquire(blocking=False):
            connection.close()
            continue
        threading.Thread(target=_serve, args=(connection, end), daemon=True).start()


def _serve(connection: socket.socket, end: _End) -> None:
    try:
        _talk(connection, end)
    finally:
        end.free.release()


def _talk(connection: socket.socket, end: _End) -> None:
    with contextlib.suppress(OSError, ValueError, IndexError), connection:
        deadline = time.monotonic() + _LINE_S
        token, kind, *words = _first_line(connection, deadline).split()
        connection.settimeout(None)
        if not hmac.compare_digest(token, end.token):
            return
        if kind == b"control":
            bits_s, size = int(words[1]), int(words[2])
            if size not in _SIZES or not 0 <= bits_s <= _HIGHEST_BITS_S:
                return
            if not end.is_sending:
                end.is_sending = True
                end.bits_s, end.size, end.peer = bits_s, size, connection.getpeername()[0]
                threading.Thread(target=_send, args=(end,), daemon=True).start()
            while True:
                connection.sendall(struct.pack("<Q", end.received))
                time.sleep(_REPORT_S)
        elif kind == b"data":
            end.data = connection
            end.ready.set()
            while data := connection.recv(1 << 16):
                end.received += len(data)


def _first_line(connection: socket.socket, deadline: float) -> bytes:
    line = b""
    # Byte by byte: what follows are data.
    while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line


def _receive_datagrams(end: _End) -> None:
    while True:
        data, source = end.udp.recvfrom(1 << 16)
        is_of_the_load = hmac.compare_digest(data[: len(end.token)], end.token)
        if not is_of_the_load or source[0] != end.peer:
            continue
        # A datagram of the token alone says where the board is.
        end.target = source
        end.ready.set()
        if len(data) > len(end.token):
            end.received += len(data)


def _send(end: _End) -> None:
    """Send what is due, every millisecond; returns when the connection broke."""
    end.ready.wait()
    data = end.token + b"\x5a" * (end.size - len(end.token))
    bytes_s, sent, began = end.bits_s / 8, 0.0, time.monotonic()
    while end.bits_s:
        due = (time.monotonic() - began) * bytes_s
        sent = max(sent, due - _LATE_S * bytes_s - end.size)
        while sent + end.size <= due:
            if not _send_one(end, data):
                return
            sent += end.size
        time.sleep(_TURN_S)


def _send_one(end: _End, data: bytes) -> bool:
    if end.data is not None:
        try:
            end.data.sendall(data)
        except OSError:
            return False
    elif end.target is not None:
        # Whatever a datagram met with, it is merely lost.
        with contextlib.suppress(OSError):
            end.udp.sendto(data, end.target)
    return True


if __name__ == "__main__":
    main()
