"""Supplies of the simulated bench: a power strip with HTTP, and a relay card on a fake USB."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol


class Load(Protocol):
    """What hangs on an outlet."""

    def power_on(self) -> None: ...

    def power_off(self) -> None: ...


@dataclass
class Outlet:
    """A contact that may be welded: then `off` moves the relay's coil, and the board stays on."""

    load: Load
    #: What the relay reads back.
    state: bool = False
    welded: bool = False
    #: Reads back on when it was switched off, as one that feels the contact does.
    honest: bool = True
    #: When it was switched, and to what.
    history: list[tuple[float, bool]] = field(default_factory=list)

    def switch(self, on: bool) -> None:
        self.history.append((time.monotonic(), on))
        if on:
            self.load.power_on()
        elif not self.welded:
            self.load.power_off()
        self.state = on or (self.welded and self.honest)


class Strip:
    """As labgrid's NetworkPowerPort has it with model `rest`."""

    def __init__(self, outlets: dict[int, Outlet]) -> None:
        self.outlets = outlets
        #: Set: requests are not answered until it is cleared.
        self.hung = threading.Event()
        strip = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                outlet = self._outlet()
                size = int(self.headers.get("Content-Length", 0))
                outlet.switch(self.rfile.read(size) == b"1")
                self._answer(b"")

            def do_GET(self) -> None:
                if int(self.path.split("/")[2]) not in strip.outlets:
                    self.send_error(404)
                    return
                self._answer(b"1" if self._outlet().state else b"0")

            def _outlet(self) -> Outlet:
                while strip.hung.is_set():
                    time.sleep(0.05)
                return strip.outlets[int(self.path.split("/")[2])]

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/relay/{{index}}/value"

    def close(self) -> None:
        self.hung.clear()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for outlet in self.outlets.values():
            outlet.load.power_off()


@contextmanager
def strip(*loads: Load) -> Iterator[Strip]:
    """A strip with these loads at the outlets 1, 2, ..."""
    made = Strip({i: Outlet(load) for i, load in enumerate(loads, 1)})
    try:
        yield made
    finally:
        made.close()


@contextmanager
def relay_card(path: Path, outlet: Outlet) -> Iterator[None]:
    """The far end of tests/bench/fake_usb: a card whose first relay is the outlet's."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=_serve, args=(listening, outlet.switch, outlet))
        thread.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            outlet.load.power_off()


def _serve(listening: socket.socket, switch: Callable[[bool], None], outlet: Outlet) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            command = json.loads(connection.makefile().readline())
            if command is not None:
                switch(command[0] == 0xFF)
            connection.sendall(json.dumps(int(outlet.state)).encode() + b"\n")
