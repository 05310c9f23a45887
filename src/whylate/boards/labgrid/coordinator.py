"""Places of a labgrid coordinator: listed, acquired, watched, released."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from whylate.boards.board import Notify
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.labgrid.calls import describe, load_labgrid, proxy_failure
from whylate.text import clean

#: labgrid's default.
DEFAULT_ADDRESS = "127.0.0.1:20408"
#: A coordinator that is silent for this long is considered gone.
ANSWER_S = 15.0

T = TypeVar("T")

#: Places that a coordinator did not release when we asked, as while it waits for an exporter that
#: hangs; by its address and their name, and when they had changed last. One that has not changed
#: since is still ours, and nobody else's of that name.
_UNRELEASED: dict[tuple[str, str], float] = {}


def coordinator_address() -> str:
    """Return the address in LG_COORDINATOR, else labgrid's default."""
    return os.environ.get("LG_COORDINATOR") or DEFAULT_ADDRESS


class Session:
    """A connection to a coordinator, with a thread that receives its messages.

    labgrid's own client receives them only during its calls, and would not notice that a place was
    lost during a run. Raises BoardError where the coordinator does not answer.
    """

    def __init__(self, address: str) -> None:
        self.address = clean(address, 120)
        #: How many leases use it.
        self.users = 0
        load_labgrid()
        self._loop = asyncio.new_event_loop()
        self._client: Any = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="coordinator", daemon=True)
        self._thread.start()
        try:
            self._call(self._start(address))
        except Exception as error:
            self.close()
            if isinstance(error, BoardError):
                raise
            why = proxy_failure(error) or "is it running, and is LG_COORDINATOR right?"
            raise BoardError(f"the coordinator {self.address} does not answer: {why}") from None

    @property
    def client(self) -> Any:
        """The ClientSession; the coordinator's messages update its places and resources."""
        return self._client

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the thread."""
        return self._loop

    @property
    def gone(self) -> bool:
        """Whether the coordinator has gone away."""
        return not self._closed and bool(self._client.stopping.is_set())

    @property
    def user(self) -> str:
        """Our identity there: host/user."""
        return f"{self._client.gethostname()}/{self._client.getuser()}"

    def ask(self, request: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a request to labgrid's client; raises BoardError."""
        try:
            return self._call(request(self._client))
        except BoardError:
            raise
        except Exception as error:
            details = getattr(error, "details", None)
            text = clean(str(details()), 200) if callable(details) else describe(error)
            raise BoardError(f"the coordinator {self.address} refuses: {text}") from None

    def close(self) -> None:
        """Disconnect. Acquired places stay ours."""
        if self._closed:
            return
        if self._client is not None:
            # A coordinator that is gone does not answer.
            with contextlib.suppress(Exception):
                self._call(self._stop())
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
        finally:
            self._loop.close()

    async def _start(self, address: str) -> None:
        from labgrid.remote.client import ClientSession
        from labgrid.util.proxy import proxymanager

        target = proxymanager.get_grpc_address(address, default_port=20408)
        self._client = ClientSession(target, self._loop)
        await self._client.start()

    async def _stop(self) -> None:
        self._client.stopping.set()
        await self._client.stop()
        await self._client.close()

    def _call(self, request: Coroutine[Any, Any, T]) -> T:
        if not self._thread.is_alive():
            request.close()
            raise BoardError(f"the connection to the coordinator {self.address} has ended")
        future = asyncio.run_coroutine_threadsafe(request, self._loop)
        try:
            return future.result(ANSWER_S)
        except FutureTimeoutError:
            future.cancel()
            raise BoardError(
                f"the coordinator {self.address} did not answer within {ANSWER_S:g} s"
            ) from None
        except BaseException:
            # It must not run later, when its caller has gone.
            future.cancel()
            raise


class Lease:
    """A place, from acquiring it to releasing it."""

    def __init__(self, address: str, place: str) -> None:
        self._address = address
        self._place = place
        self._key = (address, place)
        self._session: Session | None = None
        self._ours = False
        #: Whether it was requested without an answer: it may be ours.
        self._unclear = False

    @property
    def place(self) -> Any:
        """The place as labgrid has it; acquire() it first."""
        assert self._session is not None  # noqa: S101 - the order of calls
        return self._session.client.places[self._place]

    def acquire(self, notify: Notify) -> None:
        """Acquire the place; raises BoardBusyError with its owner's name, and BoardError."""
        notify(f"acquiring {self._place}")
        self._session = session = _join(self._address)
        place = session.client.places.get(self._place)
        if place is None:
            names = ", ".join(clean(name, 80) for name in sorted(session.client.places))
            raise BoardError(
                f"the coordinator {session.address} has no place {self._place[:80]!r}: it has "
                f"{names[:400] or 'none'}"
            )
        self._release_again(session, place, notify)
        if place.acquired:
            raise BoardBusyError(self._taken(place.acquired))
        missing = place.unmatched(resource_paths(session.client))
        if missing is not None:
            raise BoardError(
                f"the place {self._place} lacks {clean(repr(missing), 120)}: its exporter does not "
                "run"
            )
        try:
            session.ask(self._acquire)
        except BoardError:
            # Another client may have been faster.
            if place.acquired and place.acquired != session.user:
                raise BoardBusyError(self._taken(place.acquired)) from None
            if place.reservation:
                raise BoardBusyError(
                    f"the place {self._place} is reserved: labgrid-client reservations says for "
                    "whom"
                ) from None
            raise
        # Until the coordinator sees that an exporter's host is gone, it gives the place without
        # what that exporter does not answer for.
        missing = self.place.unmatched(self.place.acquired_resources)
        if missing is not None:
            raise BoardError(
                f"the place {self._place} lacks {clean(repr(missing), 120)}: its exporter does not "
                "answer"
            )

    def attach(self) -> None:
        """Let labgrid's resource manager find the place's resources in our session."""
        from labgrid.resource.remote import RemotePlaceManager

        assert self._session is not None  # noqa: S101 - the order of calls
        manager = RemotePlaceManager.get()
        manager.session = self._session.client
        manager.loop = self._session.loop
        manager.env = None

    def loss(self) -> str | None:
        """Return why the place is no longer ours, or None while it is."""
        session = self._session
        if session is None or not self._ours:
            return None
        if session.gone:
            return (
                f"the coordinator {session.address} went away, and with it our hold on "
                f"{self._place}"
            )
        place = session.client.places.get(self._place)
        if place is None or not place.acquired:
            return f"the place {self._place} was released by somebody else"
        if place.acquired != session.user:
            return f"the place {self._place} was taken by {clean(place.acquired, 80)}"
        return None

    def release(self) -> None:
        """Release the place; raises BoardError where the coordinator does not do it."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            if (self._ours or self._unclear) and not session.gone:
                place = session.client.places.get(self._place)
                if self._ours and place is not None:
                    _UNRELEASED[self._key] = place.changed
                session.ask(self._release)
                _UNRELEASED.pop(self._key, None)
        finally:
            self._ours = self._unclear = False
            _leave(session)

    def _release_again(self, session: Session, place: Any, notify: Notify) -> None:
        """Release the place where an earlier lease of ours asked for that without an answer."""
        if place.acquired == session.user and place.changed == _UNRELEASED.get(self._key):
            notify(f"releasing {self._place}: the coordinator did not answer to that before")
            session.ask(self._release)
        _UNRELEASED.pop(self._key, None)

    async def _acquire(self, client: Any) -> None:
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        self._unclear = True
        try:
            await client.stub.AcquirePlace(messages.AcquirePlaceRequest(placename=self._place))
        except Exception:
            # This is an answer, unlike an interruption: it was refused.
            self._unclear = False
            raise
        # From here on it must be released, even if the rest fails.
        self._ours, self._unclear = True, False
        await client.sync_with_coordinator()

    async def _release(self, client: Any) -> None:
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        # Never a place that somebody else has acquired meanwhile: the coordinator knows its owner,
        # and does nothing where that is not us.
        if self._place not in client.places:
            return
        us = f"{client.gethostname()}/{client.getuser()}"
        request = messages.ReleasePlaceRequest(placename=self._place, fromuser=us)
        await client.stub.ReleasePlace(request)
        await client.sync_with_coordinator()

    def _taken(self, owner: str) -> str:
        host, _, user = owner.partition("/")
        return (
            f"the place {self._place} is taken: {clean(user or host, 60)} on {clean(host, 60)} has "
            f"it, and releases it by labgrid-client -p {self._place} release"
        )


#: labgrid has one resource manager, which works with one session at a time.
_SESSIONS: dict[str, Session] = {}
_SESSIONS_LOCK = threading.Lock()


def _join(address: str) -> Session:
    """Return the session that is shared by all users of this coordinator; raises BoardError."""
    with _SESSIONS_LOCK:
        session = _SESSIONS.get(address)
        if session is None or session.gone:
            session = _SESSIONS[address] = Session(address)
        session.users += 1
        return session


def _leave(session: Session) -> None:
    """Disconnect when the session has no other user."""
    with _SESSIONS_LOCK:
        session.users -= 1
        if session.users:
            return
        for address in [key for key, value in _SESSIONS.items() if value is session]:
            del _SESSIONS[address]
    session.close()


def resource_paths(client: Any) -> list[tuple[str, str, str, str]]:
    """Return the paths of all resources that a coordinator knows: exporter, group, class, name.

    labgrid's client keeps those of an exporter that has ended, without a class; they are left out.
    """
    return [
        (exporter, group, resource.cls, name)
        # Copies: the session's thread changes them meanwhile.
        for exporter, groups in list(client.resources.items())
        for group, resources in list(groups.items())
        for name, resource in list(resources.items())
        if "cls" in resource.data
    ]
