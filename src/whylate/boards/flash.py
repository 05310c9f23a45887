"""Writing an image to a board's card, through an SD mux.

The order protects cards and boards: power off, card to the host, write, sync, wait for udev, read
back and compare, card to the board, boot. A card with a difference is given back to the board, but
the board is left off.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import lzma
import mmap
import os
import shutil
import stat
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from whylate.boards.board import Board, BoardError, Notify
from whylate.boards.notes import forget_image, note_image

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
    power = board.power
    if power is None:
        raise BoardError(
            f"{board.name} has no supply that can be switched: removing the card of a running "
            "board breaks its file system"
        )
    content = open_image(image, notify)
    notify(f"switching {board.name} off")
    power.off()
    try:
        device = _card(card, content, notify)
        forget_image(board)
        with _claimed(device) as fd:
            _write(fd, device, content, notify)
        _settle()
        _compare(device, content, notify)
        note_image(board, image)
    finally:
        notify(f"giving {board.name} its card")
        card.to_board()
    board.boot(notify)


def _card(card: CardMux, image: Image, notify: Notify) -> Path:
    """Return the device of a card that is the mux's, is not in use and holds the image."""
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
    if size < image.size:
        raise BoardError(
            f"the card is too small: {device} holds {size} bytes, the image has {image.size}"
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


#: Bytes that are held in memory at a time.
PIECE = 4 << 20
_XZ = b"\xfd7zXZ\x00"
_GZIP = b"\x1f\x8b"
#: Unsupported compression: such a file would be written as it is and never boot.
_UNSUPPORTED = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PK\x03\x04": "zip"}


@dataclass(frozen=True)
class Image:
    """A file whose unpacked content is to be written; `size` is that of the content, in bytes."""

    path: Path
    size: int

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces of PIECE bytes, the last one shorter; raises BoardError."""
        with closing(_open(self.path)) as file:
            while piece := _read(self.path, file):
                yield piece


def open_image(path: Path, notify: Notify) -> Image:
    """Return an image that was read once to its end; raises BoardError.

    So a damaged file is found before anything is written, and the unpacked size is known (gzip's
    own field holds it only modulo 2³²).
    """
    try:
        if not path.is_file():
            raise BoardError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise BoardError(f"{path} cannot be read: {error.strerror}") from None
    for magic, name in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise BoardError(f"{path} is a {name} file: unpack it first, or pack it with xz")
    size = path.stat().st_size
    if head.startswith((_XZ, _GZIP)):
        notify(f"checking {path.name}")
        size = sum(len(piece) for piece in Image(path, 0).pieces())
    if not size:
        raise BoardError(f"{path} is empty")
    return Image(path, size)


def _open(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as file:
            head = file.read(8)
        if head.startswith(_XZ):
            return cast(BinaryIO, lzma.open(path))
        if head.startswith(_GZIP):
            return cast(BinaryIO, gzip.open(path))
        return path.open("rb")
    except OSError as error:
        raise BoardError(f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path, file: BinaryIO) -> bytes:
    """Return one piece; decompressors may return less than was requested."""
    parts: list[bytes] = []
    missing = PIECE
    try:
        while missing and (part := file.read(missing)):
            parts.append(part)
            missing -= len(part)
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise BoardError(f"{path} is damaged: {error}") from None
    return b"".join(parts)
