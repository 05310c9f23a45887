"""The boot method `kexec`: the running kernel starts another, without firmware or boot loader.

Nothing on the board changes but a directory with files, and any other boot is the board's own. Not
the same as a cold boot: devices are in the state in which the former kernel left them.
"""

from __future__ import annotations

from pathlib import Path

from whylate.boards.board import Board, Notify
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry, without_loaders, words_of
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.options import BootOptions
from whylate.boards.boot.restart import restart_by
from whylate.text import clean

#: Where distributions have the kernel that is running; {0}: its release.
_KERNELS = (
    "/boot/vmlinuz-{0}",
    "/boot/Image-{0}",
    "/boot/zImage-{0}",
    "/boot/Image",
    "/boot/zImage",
)
_INITRDS = ("/boot/initrd.img-{0}", "/boot/initramfs-{0}.img", "/boot/initrd-{0}")


class Kexec:
    """Boots a board by kexec. Implements BootMethod."""

    name = "kexec"
    starts_cold = False

    host_directory: Path | None = None

    def __init__(self, board: Board, options: BootOptions) -> None:
        self._board = board
        self._options = options

    def on(self, board: Board) -> Kexec:
        """Return the same for a new connection."""
        return Kexec(board, self._options)

    @property
    def directory(self) -> str:
        """On a file system that is never the boot loader's: the kernel is read here and now."""
        return "/var/tmp/whylate"  # noqa: S108 - on the board

    def own(self) -> Entry:
        """Return the kernel that runs, by the names that distributions give its files."""
        output = board_files.run(self._board, ["uname", "-r"], "reading its kernel's release")
        release = clean(output.decode(errors="replace"), 100)
        kernel = self._options.kernel or self._first(_KERNELS, release)
        if not kernel or "/" in release:
            raise BootMethodError(
                f"{self._board.name}: the file of its kernel {release} is not in /boot: declare "
                "`kernel`, and `initrd` if it has one"
            )
        line = board_files.read_text(self._board, "/proc/cmdline") or ""
        return Entry(
            kernel=kernel,
            initrd=self._options.initrd or self._first(_INITRDS, release),
            dtb=self._options.dtb,
            words=without_loaders(words_of(line.strip())),
        )

    def path(self, on_board: str) -> str:
        """Return the same path: no boot loader reads it."""
        return on_board

    def touches(self) -> list[str]:
        """Return nothing."""
        return []

    def arm(self, entry: Entry) -> None:
        """Load the kernel; another boot forgets it."""
        words = ["kexec", "--load", entry.kernel, f"--command-line={entry.line}"]
        words += [f"--initrd={entry.initrd}"] if entry.initrd else []
        words += [f"--dtb={entry.dtb}"] if entry.dtb else []
        board_files.run(self._board, words, "loading the kernel")

    def disarm(self) -> None:
        """Unload the kernel, if one is loaded."""
        self._board.run(["kexec", "--unload"])

    def start(self, entry: Entry, notify: Notify) -> None:
        """Start the kernel that is loaded, in order where the board has systemd."""
        del entry
        orderly = board_files.exists(self._board, "/run/systemd/system")
        command = ["systemctl", "kexec"] if orderly else ["kexec", "--exec"]
        restart_by(self._board, command, notify)

    def _first(self, patterns: tuple[str, ...], release: str) -> str:
        paths = [pattern.format(release) for pattern in patterns]
        return next((path for path in paths if board_files.exists(self._board, path)), "")
