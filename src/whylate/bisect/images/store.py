"""Hybrids on the disk: made ahead while a board measures, a few kept, the rest removed."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from whylate.bisect.images.roots import Hybrid, Roots
from whylate.files import bytes_text
from whylate.recording.errors import DiskError
from whylate.stats.arrays import Bools
from whylate.stats.search import model

HYBRIDS = "hybrids"
#: Hybrids that are kept for another run: both ends, and a few more.
KEPT = 6


@dataclass(frozen=True)
class Made:
    """A hybrid on the disk."""

    path: Path
    sha256: str
    hybrid: Hybrid


class Store:
    """The directory of hybrids; any thread may use it.

    keep: none is removed, also when it is closed. Raises DiskError where there is too little room.
    """

    def __init__(self, roots: Roots, directory: Path, *, keep: bool) -> None:
        self._roots = roots
        self._directory = directory / HYBRIDS
        self._keep = keep
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "hybrids")
        #: By key, the least recently used first.
        self._made: dict[str, Future[Made]] = {}
        self._used: dict[str, int] = {}
        try:
            if not keep:
                # What a host that was killed has left.
                shutil.rmtree(self._directory, ignore_errors=True)
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(f"{self._directory} cannot be made: {error.strerror}") from None

    def prepare(self, hybrids: Sequence[model.Hybrid]) -> None:
        """Make hybrids that are used next, as many as are kept."""
        for hybrid in hybrids[: KEPT // 2]:
            self._future(hybrid)

    @contextmanager
    def use(self, hybrid: model.Hybrid) -> Iterator[Made]:
        """Yield a hybrid, which stays for that time; raises HybridError and DiskError."""
        key = self._key(hybrid)
        with self._lock:
            self._used[key] = self._used.get(key, 0) + 1
        try:
            yield self._future(hybrid).result()
        finally:
            with self._lock:
                self._used[key] -= 1
            self._drop()

    def close(self) -> None:
        """Remove the hybrids."""
        self._worker.shutdown(cancel_futures=True)
        if not self._keep:
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the hybrids."""
        self.close()

    def _key(self, hybrid: model.Hybrid) -> str:
        second_base = hybrid.fast_base and self._roots.has_rest
        data = hybrid.in_force.astype("u1").tobytes() + bytes([second_base])
        return hashlib.sha256(data).hexdigest()[:16]

    def _future(self, hybrid: model.Hybrid) -> Future[Made]:
        key = self._key(hybrid)
        with self._lock:
            future = self._made.pop(key, None)
            if future is None or (future.done() and future.exception() is not None):
                future = self._worker.submit(self._make, key, hybrid.in_force, hybrid.fast_base)
            self._made[key] = future
            return future

    def _make(self, key: str, chosen: Bools, second_base: bool) -> Made:
        hybrid = self._roots.hybrid(chosen, second_base)
        path = self._directory / f"{key}.tar"
        size = sum(entry.size for entry in hybrid.entries.values() if entry.type == "file")
        free = shutil.disk_usage(self._directory).free
        if free < size + (64 << 20):
            raise DiskError(
                f"{self._directory} has {bytes_text(free)} left, and a hybrid takes "
                f"{bytes_text(size)}"
            )
        return Made(path, self._roots.write(path, hybrid), hybrid)

    def _drop(self) -> None:
        if self._keep:
            return
        with self._lock:
            idle = [key for key, future in self._made.items()
                    if future.done() and not self._used.get(key)]  # fmt: skip
            for key in idle[: max(0, len(self._made) - KEPT)]:
                del self._made[key]
                (self._directory / f"{key}.tar").unlink(missing_ok=True)
