"""Captures of real machines, and snapshots made of a few files typed by hand.

captures/kvm-guest-x86_64-6.18.{before,after}.json: read from a KVM guest
with two CPUs, three seconds apart. Shortened: the command line, the kernel configuration, the
control group, and of the threads those with real-time priority and one without.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from whylate.boards.facts.snapshot import FileContent, ProbeFacts, Snapshot

_CAPTURES = Path(__file__).parent / "captures"

#: What the probe would say on the captured machine, started by root.
GUEST = ProbeFacts(
    sysname="Linux",
    nodename="vm",
    release="6.18.44-fc-v470",
    version="#1 SMP PREEMPT_DYNAMIC @0",
    machine="x86_64",
    arch="x86_64",
    pointer_bits=64,
    effective_uid=0,
    capabilities=0x1FFFFFFFFFF,
    rlimit_rtprio=0,
    rlimit_memlock_bytes=8 * 2**20,
    clock_resolution_ns=1,
)


def load(name: str) -> Snapshot:
    """One capture, such as "kvm-guest-x86_64-6.18.before"."""
    stored = json.loads((_CAPTURES / f"{name}.json").read_text())
    return Snapshot(
        {
            path: FileContent(
                base64.b64decode(entry["base64"])
                if "base64" in entry
                else entry["text"].encode("ascii"),
                entry.get("error"),
                entry.get("truncated", False),
            )
            for path, entry in stored.items()
        }
    )


def before() -> Snapshot:
    return load("kvm-guest-x86_64-6.18.before")


def after() -> Snapshot:
    return load("kvm-guest-x86_64-6.18.after")


def typed(files: Mapping[str, str | bytes | FileContent]) -> Snapshot:
    """A snapshot of files typed by hand: examples of a format, not of a board."""
    return Snapshot(
        {
            path: content
            if isinstance(content, FileContent)
            else FileContent(content.encode() if isinstance(content, str) else content)
            for path, content in files.items()
        }
    )


def changed(snapshot: Snapshot, files: Mapping[str, str | bytes | FileContent]) -> Snapshot:
    """A capture with some of its files replaced or added."""
    return Snapshot({**snapshot.files, **typed(files).files})
