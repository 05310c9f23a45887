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
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from whylate.cli import main, start_no_threads_for_arrays

#: Bytes of a request, which has words, a directory and an environment.
LONGEST = 1 << 20
#: The module that makes pages of templates.
RENDER = "whylate.report.page.render"
#: With a request: standard input, output and error.
DESCRIPTORS = 3


@dataclass(frozen=True)
class Start:
    """A process that was forked; imports: a file with the names of what it has imported."""

    pid: int
    client: socket.socket
    imports: int


class StartServer:
    """Forks a process for each client, and answers with its exit status.

    A client says "N\\n" for a signal N to its process. When it goes, the process is killed.
    """

    def __init__(self, listener: socket.socket, life: int) -> None:
        """life: a pipe whose other end closes when the tests have ended."""
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(life, selectors.EVENT_READ)
        self._life = life

    def serve(self) -> None:
        """Serve until the tests have ended."""
        while True:
            for key, _ in self._selector.select():
                if key.fd == self._life:
                    return
                if key.fileobj is self._listener:
                    self._start()
                elif isinstance(key.fileobj, socket.socket):
                    self._signal(key.data)
                else:
                    self._answer(key.fd, key.data)

    def _start(self) -> None:
        client, _ = self._listener.accept()
        data, standard, _, _ = socket.recv_fds(client, LONGEST, DESCRIPTORS)
        if len(standard) != DESCRIPTORS:
            client.close()
            return
        for descriptor in standard:
            os.set_inheritable(descriptor, False)
        imports = os.memfd_create("imports")
        pid = os.fork()
        if not pid:
            self._selector.close()
            self._listener.close()
            client.close()
            _run(json.loads(data), standard, imports)
        for descriptor in standard:
            os.close(descriptor)
        start = Start(pid, client, imports)
        self._selector.register(client, selectors.EVENT_READ, start)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, start)

    def _signal(self, start: Start) -> None:
        try:
            number = int(start.client.recv(16) or signal.SIGKILL)
        except OSError:
            number = signal.SIGKILL
        # It is not reaped before its client is forgotten: the number is still its own.
        os.kill(start.pid, number)
        if number == signal.SIGKILL:
            self._selector.unregister(start.client)

    def _answer(self, ended: int, start: Start) -> None:
        self._selector.unregister(ended)
        os.close(ended)
        with contextlib.suppress(KeyError):
            self._selector.unregister(start.client)
        _, status = os.waitpid(start.pid, 0)
        with contextlib.suppress(OSError):
            start.client.send(b"%d" % os.waitstatus_to_exitcode(status))
        start.client.close()
        with os.fdopen(start.imports) as file:
            file.seek(0)
            _import(file.read().split())


def _run(request: dict[str, object], standard: list[int], imports: int) -> NoReturn:
    """Be a start of whylate: its end is the end of this process."""
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
    if RENDER in names:
        _compile_templates()
    if names:
        gc.collect()
        # Collections of a start do not touch, and copy, the pages of what is imported.
        gc.freeze()


def _compile_templates() -> None:
    """Have each start find the templates of pages compiled."""
    module = importlib.import_module(RENDER)
    for template in Path(module.__file__ or "").parent.glob("assets/*.j2"):
        module.environment().get_template(template.name)


if __name__ == "__main__":
    # Ctrl-C is for the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As each start would.
    start_no_threads_for_arrays()
    StartServer(socket.socket(fileno=int(sys.argv[1])), sys.stdin.fileno()).serve()
