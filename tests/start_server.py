"""A process that has whylate imported and forks for each start of it (see starts.py).

What one start imports, each later start has from the beginning: it takes as long as its verb.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from typing import NoReturn

#: Of a request: its words, directory and environment.
LONGEST = 1 << 20
#: With a request: standard input, output and error, and where the answer goes.
DESCRIPTORS = 4


class StartServer:
    """Forks a process for each request, and answers with its number and with its exit status."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve until whoever asks is gone."""
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._answer(key.fd, *key.data)
                elif not self._start():
                    return

    def _start(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._requests, LONGEST, DESCRIPTORS)
        if not data:
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        *standard, answer = descriptors
        imports = os.memfd_create("imports")
        pid = os.fork()
        if not pid:
            self._selector.close()
            self._requests.close()
            os.close(answer)
            _run(json.loads(data), standard, imports)
        for descriptor in standard:
            os.close(descriptor)
        os.write(answer, f"{pid}\n".encode())
        ended = os.pidfd_open(pid)
        self._selector.register(ended, selectors.EVENT_READ, (pid, answer, imports))
        return True

    def _answer(self, ended: int, pid: int, answer: int, imports: int) -> None:
        self._selector.unregister(ended)
        os.close(ended)
        _, status = os.waitpid(pid, 0)
        # Who asked may have given it up.
        with contextlib.suppress(OSError):
            os.write(answer, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(answer)
        with open(imports) as file:
            file.seek(0)
            _import(file.read().split())


def _run(request: dict[str, object], standard: list[int], imports: int) -> NoReturn:
    """Be a start of whylate: its end is the end of this process."""
    from whylate.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(str(request["directory"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.argv = ["whylate", *request["words"]]  # type: ignore[misc]
    before = set(sys.modules)
    try:
        main()
    finally:
        os.write(imports, " ".join(set(sys.modules) - before).encode())
    sys.exit(0)


def _import(names: list[str]) -> None:
    """Import what a start has imported; what cannot be imported by its name is left out."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if names:
        gc.collect()
        # Collections of a start do not touch, and copy, the pages of what is imported.
        gc.freeze()


if __name__ == "__main__":
    # Ctrl-C is for the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import(["whylate.cli"])
    StartServer(socket.socket(fileno=int(sys.argv[1]))).serve()
