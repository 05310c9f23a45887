"""What a virtual board is given to boot a root: its kernel, and one initial RAM file system.

That is the root's own files, and whylate's below /whylate: a static busybox, the probe, and the
first process, which runs the root's start-up. It is kept by the hash of all that is in it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from whylate.files import sha256_of, sha256_of_named
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import FILES, VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.image import (
    BUSYBOX,
    ON_PORT,
    PROBE,
    Image,
    busybox_of,
    elf_of,
)
from whylate.lab.initramfs import Archive
from whylate.lab.packages import packages_of
from whylate.lab.roots.read import Root, read_root
from whylate.lab.sums import cached_sha256
from whylate.probe.binaries import NoProbeError, probe_binary
from whylate.text import plain

#: The first process.
INIT = "/whylate/init"
#: Prepared roots that are kept: each takes up to half a GiB, mostly 100 MiB.
KEPT = 6
#: Modules without which a board is no less a board: it has no network then.
_OPTIONAL = frozenset({"failover", "net_failover", "virtio_net"})
_NOTE = "root.json"


class _Prepared(msgspec.Struct, frozen=True):
    """What was made of a root."""

    release: str
    words: tuple[str, ...]
    plain: bool
    tree: bool


def root_sum(path: Path) -> str:
    """Return the SHA-256 of a tarball; raises LabError for what is none."""
    name = plain(str(path), 200)
    try:
        if path.is_dir():
            raise LabError(
                f"{name} is a directory: a virtual board takes a tarball (tar -C {name} -cf "
                f"{name}.tar .)"
            )
        return sha256_of_named(str(path))
    except OSError as error:
        raise LabError(f"{name} cannot be read: {error.strerror}") from None


def prepare_root(
    board: VirtualBoard, path: Path, expected: str, notify: Callable[[str], None]
) -> Image:
    """Return what boots a board with a root, a tarball; raises LabError.

    expected: its SHA-256; "": any.
    """
    total = root_sum(path)
    if expected not in ("", total):
        raise LabError(f"{plain(str(path), 200)} is not what it was when the run was planned")
    try:
        probe = probe_binary(board.description.arch)
    except NoProbeError as error:
        raise LabError(str(error)) from None
    cache = cache_directory()
    with building(cache, notify):
        packages = packages_of(board, cache)
        busybox_deb = packages.fetch(BUSYBOX, notify)
        inputs = [
            total,
            board.name,
            probe.sha256,
            cached_sha256(busybox_deb),
            sha256_of(Path(__file__)),
        ]
        inputs += [sha256_of(FILES / "image" / name) for name in _SCRIPTS.values()]
        key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        here = cache / "roots" / key[:24]
        if not (here / _NOTE).exists():
            notify(f"preparing {plain(path.name, 80)} for {board.name}")
            root = read_root(path, frozenset(board.description.all_modules))
            overlay = _overlay(board, root, busybox_of(busybox_deb), probe.path.read_bytes())
            _write(board, root, overlay, here)
        note = msgspec.json.decode((here / _NOTE).read_bytes(), type=_Prepared)
        # The least recently used is dropped first.
        (here / _NOTE).touch()
        _drop_old(here.parent)
    return Image(
        here / "vmlinuz",
        here / "initrd",
        here / "board.dtb" if note.tree else None,
        note.release,
        key,
        here / "vmlinux" if note.plain else None,
        note.words,
        INIT,
    )


#: Where whylate's scripts go, and which files they are.
_SCRIPTS = {INIT: "root-init", "/whylate/start-up": "root-start-up", ON_PORT: "on-port"}


def _overlay(board: VirtualBoard, root: Root, busybox: bytes, probe: bytes) -> bytes:
    """Return the archive of whylate's own files; raises LabError."""
    archive = Archive()
    # The kernel opens it for init's first words, before init has mounted devtmpfs.
    archive.device("dev/console", 5, 1)
    archive.file("whylate/bin/busybox", busybox, 0o755)
    archive.file(PROBE[1:], probe, 0o755)
    for path, name in _SCRIPTS.items():
        script = (FILES / "image" / name).read_bytes()
        ours = script.replace(b"#!/bin/busybox", b"#!/whylate/bin/busybox", 1)
        archive.file(path[1:], ours, 0o755)
    archive.file("whylate/fstab", (FILES / "image" / "fstab").read_bytes())
    archive.file("whylate/name", f"{board.name}\n".encode())
    archive.file("whylate/port", f"{board.description.port}\n".encode())
    order = []
    for module in board.description.all_modules:
        try:
            data = root.module(module)
        except LabError:
            if module not in _OPTIONAL:
                raise
            continue
        if data is not None:
            archive.file(f"whylate/modules/{module}.ko", data)
            order.append(module)
    archive.file("whylate/modules/order", "".join(f"{module}\n" for module in order).encode())
    return archive.pack()


def _write(board: VirtualBoard, root: Root, overlay: bytes, here: Path) -> None:
    """Write what was made of a root, whole or not at all; raises LabError."""
    if board.description.dtb and root.device_tree is None:
        raise LabError(f"{board.name} needs a device tree: the root has no boot/board.dtb")
    kernel = root.kernels[root.release]
    unpacked = elf_of(kernel) if board.description.arch == "x86_64" else None
    fresh = here.with_name(f"{here.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (fresh / "vmlinuz").write_bytes(kernel)
    if unpacked is not None:
        (fresh / "vmlinux").write_bytes(unpacked)
    if root.device_tree is not None:
        (fresh / "board.dtb").write_bytes(root.device_tree)
    (fresh / "initrd").write_bytes(root.files.pack() + overlay)
    note = _Prepared(root.release, root.words, unpacked is not None, root.device_tree is not None)
    (fresh / _NOTE).write_bytes(msgspec.json.encode(note))
    shutil.rmtree(here, ignore_errors=True)
    fresh.rename(here)


def _drop_old(directory: Path) -> None:
    """Remove all but the last prepared roots: running boards have read theirs."""
    notes = sorted(directory.glob(f"*/{_NOTE}"), key=lambda note: note.stat().st_mtime)
    for note in notes[:-KEPT]:
        shutil.rmtree(note.parent, ignore_errors=True)
