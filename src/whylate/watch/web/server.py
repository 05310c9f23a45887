"""The page of watched boards: on the loopback interface alone, and nothing can be changed by it.

Other users of this machine reach the loopback interface too, and any page in the user's browser may
send requests there. So the address has a random word that both must know, the Host header must be
this server's (a name that an attacker rebinds to 127.0.0.1 is another), and only GET and HEAD are
answered. The page shows text that boards printed: it is inserted as text, never as markup, and the
Content-Security-Policy allows this server's own script and style alone.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import msgspec

from whylate import __version__
from whylate.boards.errors import BoardError
from whylate.text import plain
from whylate.watch.card import Card, board_card
from whylate.watch.model import BoardView

ADDRESS = "127.0.0.1"
#: Two pages, or a page that is reloaded, share what was read within this time.
FRESH_S = 0.5
#: Connections at the same time, and how long one may be idle or take to send its request.
MOST_CONNECTIONS = 16
IDLE_S = 10.0
#: How long a connection may last, however slowly its bytes come.
LONGEST_S = 15.0
#: Lines of a console on the page.
MOST_LINES = 80
_ASSETS = Path(__file__).with_name("assets")
_PAGES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class State(msgspec.Struct, frozen=True):
    """What the page fetches. error: why the boards cannot be read; "" where they can.

    left_out: boards that are not shown, because there are too many.
    """

    boards: list[Card]
    error: str = ""
    left_out: int = 0


class Watched(Protocol):
    """What the page shows."""

    #: Boards that the last poll() left out.
    left_out: int

    def poll(self) -> Sequence[BoardView]:
        """Return what is seen of the boards now; may raise BoardError."""


class WatchServer(ThreadingHTTPServer):
    """Serves the page."""

    daemon_threads = True
    request_queue_size = 8

    def __init__(self, watched: Watched, port: int = 0) -> None:
        self._watched = watched
        self._polling = threading.Lock()
        self._state = b""
        self._read_at: float | None = None
        self._connections = threading.BoundedSemaphore(MOST_CONNECTIONS)
        #: When each open connection is ended.
        self._ends: dict[socket.socket, float] = {}
        self.word = secrets.token_urlsafe(16)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise BoardError(
                f"port {port} of {ADDRESS} cannot be used ({error.strerror}): name another with "
                "--port, or leave it out"
            ) from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/{self.word}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The Host headers that are this server's."""
        return frozenset(f"{name}:{self.server_port}" for name in (ADDRESS, "localhost"))

    def state(self) -> bytes:
        """Return what the page shows, as JSON."""
        with self._polling:
            now = time.monotonic()
            if self._read_at is None or now - self._read_at > FRESH_S:
                self._state = msgspec.json.encode(self._look())
                self._read_at = time.monotonic()
            return self._state

    def _look(self) -> State:
        try:
            cards = [board_card(view) for view in self._watched.poll()]
        except BoardError as error:
            return State([], plain(str(error)))
        return State(
            [msgspec.structs.replace(card, lines=card.lines[-MOST_LINES:]) for card in cards],
            left_out=self._watched.left_out,
        )

    def process_request(self, request: object, client_address: object) -> None:
        """Handle a connection in a thread of its own; refuse it where there are too many."""
        assert isinstance(request, socket.socket)  # noqa: S101
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._ends[request] = time.monotonic() + LONGEST_S
        try:
            super().process_request(request, client_address)
        except BaseException:
            # There is no thread that would do it.
            self._over(request)
            raise

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Handle a connection."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._over(request)

    def _over(self, request: object) -> None:
        assert isinstance(request, socket.socket)  # noqa: S101
        self._ends.pop(request, None)
        self._connections.release()

    def service_actions(self) -> None:
        """End connections that last too long; called several times a second."""
        now = time.monotonic()
        for request, end in list(self._ends.items()):
            if now > end:
                # Its thread then reads the end, and closes it.
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a connection that broke."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request. There is no keep-alive: HTTP/1.0."""

    server: WatchServer
    server_version = f"whylate/{__version__}"
    sys_version = ""
    timeout = IDLE_S

    def do_GET(self) -> None:
        """Answer with a page, its parts, or the state."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer the same without its content."""
        self._answer(with_body=False)

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def _refuse_method(self) -> None:
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n", allow="GET, HEAD")

    def _answer(self, *, with_body: bool) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"another host\n", with_body=with_body)
            return
        _, _, rest = self.path.partition("/")
        word, slash, name = rest.partition("/")
        known = hmac.compare_digest(word.encode(errors="replace"), self.server.word.encode())
        if not known or not slash or (name not in _PAGES and name != "state"):
            self._send(HTTPStatus.NOT_FOUND, b"nothing here\n", with_body=with_body)
        elif name == "state":
            kind = "application/json"
            self._send(HTTPStatus.OK, self.server.state(), kind, with_body=with_body)
        else:
            file, kind = _PAGES[name]
            self._send(HTTPStatus.OK, (_ASSETS / file).read_bytes(), kind, with_body=with_body)

    def _send(
        self,
        status: HTTPStatus,
        body: bytes,
        kind: str = "text/plain; charset=utf-8",
        *,
        with_body: bool = True,
        allow: str = "",
    ) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if allow:
            self.send_header("Allow", allow)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request in plain words: the default repeats it as HTML."""
        del message, explain
        self.close_connection = True
        self._send(HTTPStatus(code), b"this is no request that is answered here\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: requests come every second."""


def serve(watched: Watched, port: int, started: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; started: called with its address. Raises BoardError."""
    with WatchServer(watched, port) as server:
        started(server.url)
        server.serve_forever(poll_interval=0.2)
