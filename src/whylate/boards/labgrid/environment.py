"""Targets of a labgrid environment file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whylate.boards.board import Notify
from whylate.boards.errors import BoardError
from whylate.boards.labgrid.calls import (
    bounded,
    describe,
    load_labgrid,
    release,
    released_on_failure,
)
from whylate.boards.labgrid.coordinator import Lease, coordinator_address
from whylate.boards.state import BoardLock, state_directory
from whylate.files import read_bounded
from whylate.text import clean

#: How long creating drivers and resources may take; they are awaited later.
LOAD_S = 60.0
#: Bytes of an environment file.
MOST_ENVIRONMENT = 4 << 20
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Listed:
    """A board that labgrid knows."""

    name: str
    #: Who holds it now, as far as is visible; None: nobody.
    owner: str | None
    #: "free", "taken", or why it cannot be used.
    state: str
    #: Its parts: "power", "console", "card", "ssh".
    parts: tuple[str, ...]
    comment: str = ""


def environment_file(given: Path | None) -> Path | None:
    """Return the environment file: the one given, else LG_ENV's, else None."""
    named = os.environ.get("LG_ENV")
    return given if given is not None else Path(named) if named else None


def list_targets(environment: Path | None = None) -> list[Listed]:
    """Return the targets of an environment file, without touching them; raises BoardError.

    The owner of a target is known where it is a whylate of this user on this host.
    """
    path = environment_file(environment)
    if path is None:
        return []
    targets = _configuration(path).get_targets()
    return [
        Listed(
            name=clean(name, 80),
            owner=(owner := target_lock(path, name).seen_owner()),
            state="free" if owner is None else "taken",
            parts=_parts(_classes(target, "drivers"), _classes(target, "resources")),
        )
        for name, target in targets.items()
    ]


def declared_of(path: Path, target: str) -> Mapping[str, object]:
    """Return what a file declares of a target for whylate, without touching it; raises BoardError.

    Empty where it has no such target.
    """
    return _declared(_configuration(path).get_targets().get(target))


def state_name(path: Path, target: str) -> str:
    """Return the name of a target's state directory: two files may each have a `main`."""
    where = hashlib.sha256(f"{path.resolve()}\0{target}".encode()).hexdigest()[:8]
    return f"lg-{_UNFIT.sub('-', target)[:20]}-{where}"


def state_name_of_place(coordinator: str, place: str) -> str:
    """Return the same for a place."""
    return state_name(Path(f"/coordinator/{coordinator}"), place)


def target_lock(path: Path, target: str) -> BoardLock:
    """Return the lock of a target; raises BoardError."""
    return BoardLock(state_directory(state_name(path, target)), target)


class EnvironmentSource:
    """A target of an environment file, locked for this process.

    The coordinator's places that it uses (RemotePlace) are acquired with it.
    """

    def __init__(self, path: Path, target: str) -> None:
        self._path = path
        self._name = target
        self.state_name = state_name(path, target)
        self._lock = target_lock(path, target)
        self._environment: Any = None
        self._leases: list[Lease] = []
        self.declared: Mapping[str, object] = {}

    def acquire(self, notify: Notify) -> Any:
        """Return labgrid's target; raises BoardBusyError, BoardError."""
        config = _configuration(self._path)
        targets = config.get_targets()
        if self._name not in targets:
            raise BoardError(
                f"{self._path} has no target {self._name[:80]!r}: it has "
                f"{', '.join(clean(name, 80) for name in targets) or 'none'}"
            )
        self.declared = _declared(targets[self._name])
        self._lock.acquire()
        with released_on_failure(self.release, notify):
            for place in _names(targets[self._name], "RemotePlace"):
                address = config.get_option("coordinator_address", coordinator_address())
                lease = Lease(str(address), place)
                self._leases.append(lease)
                lease.acquire(notify)
            return bounded(f"creating the target {self._name}", self._make, LOAD_S)

    def release(self) -> None:
        """Release everything; raises BoardError at the end where a part of it failed."""
        environment, self._environment = self._environment, None
        leases, self._leases = self._leases, []
        with contextlib.ExitStack() as last_first:
            last_first.callback(self._lock.release)
            for lease in leases:
                last_first.callback(lease.release)
            if environment is not None:
                what = f"releasing the target {self._name}"
                last_first.callback(release, what, environment.cleanup)

    def loss(self) -> str | None:
        """Return why it is no longer ours, or None."""
        return next((text for lease in self._leases if (text := lease.loss()) is not None), None)

    def _make(self) -> Any:
        labgrid = load_labgrid()
        self._environment = labgrid.Environment(str(self._path))
        for lease in self._leases:
            lease.attach()
        target = self._environment.get_target(self._name)
        if target is None:
            raise BoardError(f"{self._path}: the target {self._name} is empty")
        forget_at_exit(target)
        return target


def forget_at_exit(target: Any) -> None:
    """Disable labgrid's own cleanup at exit: it would print a traceback."""
    import atexit

    atexit.unregister(target._atexit_cleanup)


def _configuration(path: Path) -> Any:
    load_labgrid()
    from labgrid.config import Config

    try:
        if not path.is_file():
            what = "it is no regular file" if path.exists() else "there is no such file"
            raise BoardError(
                f"labgrid environment {path}: {what}; name the environment file of the bench by "
                "--env or LG_ENV"
            )
        read_bounded(path, MOST_ENVIRONMENT)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BoardError(f"{path} is not a labgrid environment: {reason}") from None
    try:
        config = Config(str(path))
        targets = config.get_targets()
    except Exception as error:
        raise BoardError(f"{path} is not a labgrid environment: {describe(error)}") from None
    if not isinstance(targets, dict):
        raise BoardError(f"{path} is not a labgrid environment: it has no targets")
    return config


def _declared(target: Any) -> Mapping[str, object]:
    """Return a target's `options: whylate:`, {} if there are none."""
    options = target.get("options") if isinstance(target, Mapping) else None
    declared = options.get("whylate") if isinstance(options, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


def _classes(target: Any, kind: str) -> list[str]:
    """Return the class names of a target's drivers or resources, in any of the three spellings."""
    entries = target.get(kind, {}) if isinstance(target, dict) else {}
    if isinstance(entries, dict):
        return [str(dict(args or {}).get("cls", name)) for name, args in entries.items()]
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return []
    return [
        str(entry["cls"] if "cls" in entry else next(iter(entry)))
        for entry in entries
        if isinstance(entry, dict) and entry
    ]


def _names(target: Any, cls: str) -> list[str]:
    """Return the names of a target's resources of one class."""
    load_labgrid()
    from labgrid import target_factory

    try:
        resources, _ = target_factory.normalize_config(target)
    except Exception as error:
        raise BoardError(f"the target is invalid: {describe(error)}") from None
    return [str(name) for name in resources.get(cls, {}) if name]


def _parts(drivers: Sequence[str], resources: Sequence[str]) -> tuple[str, ...]:
    """Return the parts that drivers and resources of these classes provide."""
    from labgrid import protocol, target_factory

    from whylate.boards.labgrid.drivers import MUX_DRIVERS

    known = [cls for name in drivers if (cls := target_factory.drivers.get(name)) is not None]
    parts = []
    if any(issubclass(cls, protocol.PowerProtocol) for cls in known):
        parts.append("power")
    if any(issubclass(cls, protocol.ConsoleProtocol) for cls in known):
        parts.append("console")
    if any(name in MUX_DRIVERS for name in drivers):
        parts.append("card")
    if "NetworkService" in resources:
        parts.append("ssh")
    return tuple(parts)
