"""The page of watched boards: what it refuses, and that what a board prints is text on it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import samples, write_journal
from watched_runs import begin, finished, progress, start

from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard
from whylate.boards.notes import noted_run
from whylate.boards.ready import held
from whylate.boards.state import state_directory
from whylate.watch.boards import Place, Watch
from whylate.watch.web import server as web
from whylate.watch.web.server import MOST_CONNECTIONS, WatchServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """A board with a hostile console and a run in progress; it has a previous run."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    directory = state_directory("local")
    (directory / "console.log").write_bytes(
        f"{MARKUP}\n\x1b]0;owned\x07\x1b[2J\n".encode()
        + b"[ 2.0] Kernel panic - not syncing: <b>dead</b>\n"
        + b"x" * 100_000
        + b"\n"
    )
    return Watch(lambda: [Place("local", directory)])


@contextmanager
def served(watch: Watch) -> Iterator[WatchServer]:
    with WatchServer(watch) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(watch: Watch) -> Iterator[WatchServer]:
    with served(watch) as made:
        yield made


def request(
    server: WatchServer, name: str, method: str = "GET", host: str | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)) as line:
        line.request(method, name, headers={} if host is None else {"Host": host})
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()


def test_the_page_and_its_parts_come_with_a_strict_policy(server: WatchServer) -> None:
    for name in ("", "page.js", "page.css", "state"):
        status, headers, body = request(server, f"/{server.word}/{name}")
        assert status == 200
        assert body
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers
        assert request(server, f"/{server.word}/{name}", "HEAD")[2] == b""


def test_it_listens_on_the_loopback_interface_alone(server: WatchServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "", "127.0.0.1", "0:{port}"]
)
def test_another_host_is_refused(host: str, server: WatchServer) -> None:
    host = host.replace("{port}", str(server.server_port))
    status, _, body = request(server, f"/{server.word}/state", host=host)
    assert (status, body) == (421, b"another host\n")
    assert (
        request(server, f"/{server.word}/state", host=f"localhost:{server.server_port}")[0] == 200
    )


def test_a_request_with_two_hosts_or_none_is_refused(server: WatchServer) -> None:
    own = f"Host: 127.0.0.1:{server.server_port}\r\n"
    for hosts in ("", own + "Host: evil.example\r\n", own * 2):
        with closing(socket.create_connection(("127.0.0.1", server.server_port), 20)) as line:
            line.sendall(f"GET /{server.word}/state HTTP/1.0\r\n{hosts}\r\n".encode())
            assert line.recv(100).split()[1] == b"421"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
def test_nothing_but_get_and_head_is_answered(method: str, server: WatchServer) -> None:
    status, headers, body = request(server, f"/{server.word}/state", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert body == b"only GET and HEAD\n"


def test_who_does_not_know_the_address_sees_nothing(server: WatchServer) -> None:
    word = server.word
    for path in ("/", "/state", f"/{word}", f"/{word[:-1]}/", f"/{word}x/state",
                 f"/{word}/../server.py", f"/{word}/%2e%2e/server.py", f"/{word}/page.html",
                 f"/{word}/state?x", f"/{word}//etc/passwd", "/%ff/"):  # fmt: skip
        status, _, body = request(server, path.encode("latin-1").decode("latin-1"))
        assert (status, body) == (404, b"nothing here\n"), path


def test_what_is_no_request_is_refused_without_repeating_it(server: WatchServer) -> None:
    for sent in (b"<script>\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"x" * 70_000 + b"\r\n",
                 b"GET / HTTP/1.0\r\n" + b"A: b\r\n" * 200 + b"\r\n"):  # fmt: skip
        with closing(socket.create_connection(("127.0.0.1", server.server_port), 20)) as line:
            line.sendall(sent)
            answer = line.recv(4096)
            assert b"<script>" not in answer
            assert b" 200 " not in answer
    assert request(server, f"/{server.word}/state")[0] == 200


def test_connections_that_say_nothing_do_not_pile_up(server: WatchServer) -> None:
    lines = [
        socket.create_connection(("127.0.0.1", server.server_port), 20)
        for _ in range(MOST_CONNECTIONS)
    ]
    before = threading.active_count()
    deadline = time.monotonic() + 5
    while threading.active_count() < before and time.monotonic() < deadline:
        time.sleep(0.02)
    with closing(socket.create_connection(("127.0.0.1", server.server_port), 20)) as more:
        assert more.recv(100) == b"", "it is closed at once"
    for line in lines:
        line.close()
    deadline = time.monotonic() + 20
    while True:
        try:
            assert request(server, f"/{server.word}/state")[0] == 200
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            break


def test_connections_that_send_a_byte_now_and_then_are_ended(
    server: WatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "LONGEST_S", 1.0)
    lines = [
        socket.create_connection(("127.0.0.1", server.server_port), 20)
        for _ in range(MOST_CONNECTIONS)
    ]
    deadline = time.monotonic() + 20
    for line in lines:
        line.sendall(b"GET /")
    ended: set[socket.socket] = set()
    while len(ended) < len(lines):
        assert time.monotonic() < deadline
        time.sleep(0.2)
        for line in lines:
            try:
                line.sendall(b"x")
            except OSError:
                ended.add(line)
    for line in lines:
        line.close()
    assert request(server, f"/{server.word}/state")[0] == 200


def test_a_thread_that_cannot_be_started_takes_no_place(
    server: WatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as no_threads:
        no_threads.setattr(threading.Thread, "start", start)
        for _ in range(MOST_CONNECTIONS + 1):
            with closing(socket.create_connection(("127.0.0.1", server.server_port), 20)) as line:
                assert line.recv(100) == b""
    assert request(server, f"/{server.word}/state")[0] == 200


def test_no_file_is_open_between_two_requests(
    server: WatchServer, watch: Watch, tmp_path: Path
) -> None:
    log = tmp_path / "run" / "local" / "console.log"
    with held(LocalBoard(), notify_nobody), noted_run("local", tmp_path / "now"):
        sent = [start(4000), samples([10_000] * 500), progress(500)]
        journal = write_journal(tmp_path / "now", begin(4000), sent, ended=False) / "journal"
        [view] = watch.poll()
        assert view.run is not None
        assert view.console is not None
        opened = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.exists()]
        assert str(log) not in opened
        assert str(journal) not in opened
        # What was read stays known.
        journal.unlink()
        [view] = watch.poll()
        assert view.run is not None
        assert view.run.seen == 500
    assert request(server, f"/{server.word}/state")[0] == 200


def test_the_state_is_bounded_whatever_a_board_prints(server: WatchServer, tmp_path: Path) -> None:
    log = tmp_path / "run" / "local" / "console.log"
    log.write_bytes(("\u202e" * 3000 + "\n").encode() * 3000)
    _, _, body = request(server, f"/{server.word}/state")
    assert len(body) < 300_000
    [card] = json.loads(body)["boards"]
    assert card["lines"][-1]["text"].startswith("\\u202e")


def test_a_port_that_is_taken_is_refused_with_what_to_do(server: WatchServer, watch: Watch) -> None:
    with pytest.raises(BoardError, match=r"cannot be used .*--port"):
        WatchServer(watch, server.server_port)


def test_boards_that_cannot_be_read_are_an_error_on_the_page() -> None:
    def places() -> list[Place]:
        raise BoardError("/run cannot be read: no such <b>file</b>")

    with WatchServer(Watch(places)) as server:
        assert json.loads(server.state()) == {
            "boards": [],
            "error": "/run cannot be read: no such <b>file</b>",
            "left_out": 0,
        }


def test_in_a_browser_what_a_board_prints_is_text(
    browser: Browser, watch: Watch, tmp_path: Path
) -> None:
    former = finished(tmp_path / "former", [20_000] * 4000)
    sent = [start(4000), samples([10_000] * 500), samples([21_000] * 500, 500), progress(1000)]
    with held(LocalBoard(), notify_nobody):
        with noted_run("local", Path(former)):
            pass
        with noted_run("local", tmp_path / "now"), served(watch) as server:
            write_journal(tmp_path / "now", begin(4000), sent, ended=False)
            page = browser.new_page(viewport={"width": 1000, "height": 800})
            complaints: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            requested: set[str] = set()
            page.on("request", lambda asked: requested.add(asked.url))
            page.goto(server.url)
            page.wait_for_selector("article pre")
            console = page.inner_text("article pre")
            assert MARKUP in console
            assert "\\x1b]0;owned\\x07" in console
            assert page.title() == "whylate: boards"
            assert page.query_selector("article img, article script, article b") is None
            assert page.inner_text("pre .fatal").endswith("<b>dead</b>\n")
            text = page.inner_text("article")
            assert "1.0 s of 4 s, 1,000 activations" in text
            assert "21.0 µs" in text
            assert "the first 1.0 s of the run of 2026-01-01" in text
            assert "cpu-thermal: 48.2 °C" in text
            with (tmp_path / "run" / "local" / "console.log").open("a") as log:
                log.write("a new line\n")
            page.wait_for_selector("pre >> text=a new line")
            page.screenshot(path=str(tmp_path / "page.png"))
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.wait_for_selector("#status.stale", timeout=20_000)
        assert complaints == ["Failed to load resource: net::ERR_CONNECTION_REFUSED"] * len(
            complaints
        )
        assert {url.removeprefix(server.url) for url in requested} == {
            "", "page.js", "page.css", "state"
        }  # fmt: skip
        page.close()
