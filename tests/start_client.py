"""Be a start of whylate in a shell: `python -IS start_client.py SOCKET WORD...` (see starts.py)."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

KILLED = 128


def request(
    path: str, words: list[str], directory: str, environment: dict[str, str], standard: list[int]
) -> socket.socket:
    """Ask a server for a start; return the connection, over which its exit status comes."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(path)
    data = json.dumps({"words": words, "directory": directory, "environment": environment})
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    socket.send_fds(client, [data.encode()], standard)
    return client


def main() -> None:
    """End as the start ends; signals are for it."""
    # pathlib takes as long to import as all the rest.
    directory = os.getcwd()  # noqa: PTH109
    client = request(sys.argv[1], sys.argv[2:], directory, dict(os.environ), [0, 1, 2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: client.send(b"%d" % number) and None)
    status = int(client.recv(16))
    sys.exit(KILLED - status if status < 0 else status)


if __name__ == "__main__":
    main()
