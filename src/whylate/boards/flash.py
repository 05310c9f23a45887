"""A board's card, through an SD mux: writing an image to it, and keeping what it has.

The order protects cards and boards: power off, card to the host, write, sync, wait for udev, read
back and compare, card to the board, boot. A card with a difference is given back to the board, but
the board is left off.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import mmap
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from whylate.boards.board import Board, Notify
from whylate.boards.errors import BoardError
from whylate.boards.image_file import PIECE, Image, open_image
from whylate.boards.notes import forget_image, note_image
from whylate.files import whole_file
from whylate.recording.errors import DiskError

#: How long a card reader may take to find the card after the mux is switched to the host.
CARD_S = 30.0
_POLL_S = 0.1
#: Written data is synced this often, so that progress is that of the card, not of memory.
_SYNC_BYTES = 16 << 20
_TELL_S = 1.0
#: <linux/fs.h>: return the size in bytes, and drop the kernel's cache of a device.
_BLKGETSIZE64 = 0x80081272
_BLKFLSBUF = 0x1261
_SECTOR = 4096


def card_of(board: Board) -> CardMux:
    """Return the card of a board that is held; raises BoardError where it has no SD mux."""
    card: CardMux | None = getattr(board, "card", None)
    if card is None:
        raise BoardError(
            f"{board.name} has no SD mux: only boards on a labgrid bench can be flashed "
            "(docs/how-to/labgrid.md)"
        )
    return card


class CardMux(Protocol):
    """An SD card that is connected to either the board or this host."""

    def to_host(self) -> Path:
        """Give the card to this host; return its block device. Raises BoardError."""

    def to_board(self) -> None:
        """Give the card to the board. Raises BoardError."""


def flash(board: Board, card: CardMux, image: Path, notify: Notify) -> None:
    """Write an image (raw, .xz or .gz) to the card of a board that is held, and boot from it.

    Raises BoardError: the board is then off and has its card, as far as possible.
    """
    write_card(board, card, image, notify)
    board.boot(notify)


def write_card(board: Board, card: CardMux, image: Path, notify: Notify) -> None:
    """Write an image to the card of a board that is held, and read it back; the board is then off.

    Raises BoardError, and what `notify` raises: the board has its card, as far as possible.
    """
    content = open_image(image, notify)
    with _card_here(board, card, content.size, notify) as device:
        forget_image(board)
        with _claimed(device) as fd:
            _write(fd, device, content, notify)
        _settle()
        _compare(device, content, notify)
        note_image(board, image)


def read_card(board: Board, card: CardMux, size: int, to: Path, notify: Notify) -> None:
    """Copy the first `size` bytes of the card of a board that is held; the board is then off.

    to: a .gz file, on the disk whole or not at all. Raises BoardError, DiskError, and what `notify`
    raises.
    """
    done, shown_at = 0, 0.0
    with (
        _card_here(board, card, size, notify) as device,
        contextlib.closing(_Reader(device)) as medium,
    ):
        try:
            # Most of a card is empty, which the least compression finds.
            with whole_file(to) as file, gzip.open(file, "wb", compresslevel=1) as packed:
                while done < size:
                    read = medium.read(min(PIECE, size - done))
                    if not read:
                        raise BoardError(f"{device} ends after {done} bytes: use another card")
                    packed.write(read)
                    done += len(read)
                    shown_at = _progress(notify, "keeping what the card has", done, size, shown_at)
        except OSError as error:
            raise DiskError(f"{to} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _card_here(board: Board, card: CardMux, size: int, notify: Notify) -> Iterator[Path]:
    """Switch a board off and give its card to this host; yield the device; give the card back."""
    power = board.power
    if power is None:
        raise BoardError(
            f"{board.name} has no supply that can be switched: removing the card of a running "
            "board breaks its file system"
        )
    notify(f"switching {board.name} off")
    power.off()
    try:
        yield _card(card, size, notify)
    finally:
        try:
            notify(f"giving {board.name} its card")
        finally:
            # Also where the user ends it here, which `notify` raises.
            card.to_board()


def _card(card: CardMux, wanted: int, notify: Notify) -> Path:
    """Return the device of a card that is the mux's, is not in use and holds so many bytes."""
    # A device that keeps its medium while the board has the card is another device.
    card.to_board()
    time.sleep(_POLL_S)
    notify("waiting for the card")
    device = card.to_host()
    card.to_board()
    _await_medium(device, present=False)
    device = card.to_host()
    _await_medium(device, present=True)
    _settle()
    _refuse_used(device)
    size = _size(device)
    if size < wanted:
        raise BoardError(
            f"the card is too small: {device} holds {size} bytes, the image has {wanted}"
        )
    return device


def _await_medium(device: Path, *, present: bool) -> None:
    deadline = time.monotonic() + CARD_S
    while (_size(device) > 0) != present:
        if time.monotonic() > deadline:
            if present:
                raise BoardError(f"there is no card in {device}: is one in the mux?")
            raise BoardError(
                f"{device} keeps its medium when the mux gives the card to the board: it is not "
                "behind this mux, and nothing was written to it"
            )
        time.sleep(_POLL_S)


def _size(device: Path) -> int:
    """Return a device's size in bytes, 0 where it does not exist or has no medium."""
    try:
        if not stat.S_ISBLK(device.stat().st_mode):
            raise BoardError(f"{device} is not a block device: nothing was written to it")
        fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise BoardError(
                f"{device} may not be opened: be in its group (often `disk`), or add a udev rule"
            ) from None
        return 0
    try:
        size = bytearray(8)
        fcntl.ioctl(fd, _BLKGETSIZE64, size)
        return int.from_bytes(size, "little")
    except OSError:
        return 0
    finally:
        os.close(fd)


def _refuse_used(device: Path) -> None:
    """Raise BoardError where any part of the device is mounted, or it is only a partition."""
    number = device.stat().st_rdev
    system = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if (system / "partition").exists():
        raise BoardError(f"{device} is a partition: an image is for the whole card")
    parts = [system, *(path.parent for path in system.glob("*/partition"))]
    numbers = {(part / "dev").read_text().strip() for part in parts if (part / "dev").exists()}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        if words[2] in numbers:
            raise BoardError(
                f"{device} is in use: it is mounted on {words[4]} (unmount it, and switch the "
                "desktop's automatic mounting off)"
            )
    for part in parts:
        holders = part / "holders"
        if holders.is_dir() and any(holders.iterdir()):
            raise BoardError(f"{device} is in use: {next(holders.iterdir()).name} is built on it")


@contextlib.contextmanager
def _claimed(device: Path) -> Iterator[int]:
    """Open a device exclusively for writing: the kernel then refuses to mount it."""
    try:
        fd = os.open(device, os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise BoardError(f"{device} is in use: it was mounted or opened just now") from None
        raise BoardError(f"{device} cannot be written: {error.strerror}") from None
    try:
        yield fd
    finally:
        os.close(fd)


def _write(fd: int, device: Path, image: Image, notify: Notify) -> None:
    written = unsynced = 0
    shown_at = 0.0
    try:
        for piece in image.pieces():
            if written + len(piece) > image.size:
                raise BoardError(f"{image.path} has grown while it was written")
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
            written += len(piece)
            unsynced += len(piece)
            if unsynced >= _SYNC_BYTES:
                os.fdatasync(fd)
                unsynced = 0
            shown_at = _progress(notify, "writing the card", written, image.size, shown_at)
        if written != image.size:
            raise BoardError(f"{image.path} has shrunk while it was written")
        os.fsync(fd)
        # Reads then come from the card. Without the right to that, O_DIRECT does the same.
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, _BLKFLSBUF)
    except OSError as error:
        raise BoardError(
            f"{device} could not be written beyond about {written - unsynced} bytes: "
            f"{error.strerror}; the card is not usable as it is"
        ) from None


def _compare(device: Path, image: Image, notify: Notify) -> None:
    """Read the card back past the kernel's cache; raises BoardError at the first difference."""
    done, shown_at = 0, 0.0
    with contextlib.closing(_Reader(device)) as card:
        for piece in image.pieces():
            read = card.read(len(piece))
            if read != piece:
                at = next(
                    (i for i, (a, b) in enumerate(zip(read, piece, strict=False)) if a != b),
                    len(read),
                )
                got = f"0x{read[at]:02x}" if at < len(read) else "nothing"
                raise BoardError(
                    f"the card does not keep what is written: at offset {done + at} (of "
                    f"{image.size}) it reads back {got} instead of 0x{piece[at]:02x}; "
                    "use another card"
                )
            done += len(piece)
            shown_at = _progress(notify, "reading the card back", done, image.size, shown_at)


class _Reader:
    """Reads a device from its beginning, past the page cache where the device allows it."""

    def __init__(self, device: Path) -> None:
        self._device = device
        flags = os.O_RDONLY | os.O_CLOEXEC
        try:
            self._fd = os.open(device, flags | os.O_DIRECT)
        except OSError:
            try:
                self._fd = os.open(device, flags)
                os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError as error:
                raise BoardError(f"{device} cannot be read back: {error.strerror}") from None
        # O_DIRECT wants aligned memory, which a mapping is.
        self._buffer = mmap.mmap(-1, PIECE)
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer where the card ends or fails."""
        wanted = min(PIECE, -(-size // _SECTOR) * _SECTOR)
        got = 0
        while got < size:
            try:
                part = os.preadv(self._fd, [memoryview(self._buffer)[got:wanted]], self._at + got)
            except OSError as error:
                raise BoardError(
                    f"{self._device} cannot be read back at offset {self._at + got}: "
                    f"{error.strerror}; use another card"
                ) from None
            if not part:
                break
            got += part
        self._at += size
        return bytes(memoryview(self._buffer)[: min(got, size)])

    def close(self) -> None:
        """Close the device."""
        os.close(self._fd)
        self._buffer.close()


def _progress(notify: Notify, what: str, done: int, size: int, shown_at: float) -> float:
    """Show the progress, at most once per _TELL_S; return when that was last done."""
    now = time.monotonic()
    if now - shown_at < _TELL_S and done < size:
        return shown_at
    notify(f"{what}: {done >> 20} of {-(-size >> 20)} MiB ({100 * done // size} %)")
    return now


def _settle() -> None:
    """Wait until udev has processed the new card, where there is a udev."""
    if shutil.which("udevadm") is None:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["udevadm", "settle", "--timeout=10"], check=False, capture_output=True, timeout=15
        )
