"""A digest of all samples of a run: runs that repeat each other have the same."""

from __future__ import annotations

import hashlib

import numpy as np

from whylate.wire.samples import Rows

_ROW = np.dtype([("activation", "<i8"), ("latency_ns", "<i8"), ("overrun", "u1")])


class SamplesDigest:
    """SHA-256 over the rows of each CPU in their order; when they were due is not part of it."""

    def __init__(self) -> None:
        self._cpus: dict[int, hashlib._Hash] = {}

    def add(self, cpu: int, rows: Rows) -> None:
        """Add the next rows of a CPU, however they are cut into blocks."""
        packed = np.empty(rows.activation.size, _ROW)
        packed["activation"] = rows.activation
        packed["latency_ns"] = rows.latency_ns
        packed["overrun"] = rows.overrun
        self._cpus.setdefault(cpu, hashlib.sha256()).update(packed.tobytes())

    def hexdigest(self) -> str:
        """Return the digest of the rows so far."""
        whole = hashlib.sha256()
        for cpu, digest in sorted(self._cpus.items()):
            whole.update(f"{cpu} {digest.hexdigest()}\n".encode())
        return whole.hexdigest()
