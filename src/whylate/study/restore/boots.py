"""Boot entries of a study's boards: each run boots its variant's, and the next boot is the board's.

Before anything changes, a note in the study's directory has what it was: after a host was killed,
the next start puts it back. What the boot loader reads is put back as soon as the board is up; the
directory with the files that it loads stays until the study ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from whylate.boards.board import Board, Notify, notify_nobody
from whylate.boards.boot import board_files
from whylate.boards.boot.board_files import Saved
from whylate.boards.boot.choose import method_for, named_method
from whylate.boards.boot.device_tree import identity
from whylate.boards.boot.entry import Entry, with_knobs, with_mark
from whylate.boards.boot.method import BootMethod, BootMethodError
from whylate.boards.boot.modules import missing_modules
from whylate.boards.boot.read_back import kernel_release, not_in_effect, running
from whylate.boards.boot.restart import restart
from whylate.boards.errors import BoardError
from whylate.boards.ready import Boot, ready
from whylate.files import read_bounded
from whylate.lab.description import names
from whylate.lab.errors import LabError
from whylate.recording.boot_mark import MARK
from whylate.recording.errors import DiskError
from whylate.recording.store.lines import read_plan, write_plan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied
from whylate.run.knobs.commands import KnobError
from whylate.run.knobs.host_files import DTB, KERNEL, ON_BOARD, file_for, needs_boot
from whylate.study.model import StudyPlan
from whylate.study.restore.cards import sum_of
from whylate.study.restore.staged import remove_staged, stage
from whylate.text import path_part, shown

BOOTS = "boots"
#: Bytes of a kernel, an initrd or a device tree.
_MOST_FILE = 512 << 20
#: The same over a serial console, which takes a second or more for so much.
_MOST_OVER_CONSOLE = 64 << 10


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a board was before a study changed how it boots.

    opened: the name by which it was opened. method: the boot method's. directory: whylate's own on
    the board. image: on the board's card; "": any. own: what it boots by itself. files: what the
    boot loader reads, to be put back. armed: whether they may have another content now.
    """

    opened: str
    method: str
    directory: str
    image: str
    own: Entry
    files: list[Saved]
    armed: bool


@dataclass(frozen=True)
class _Wanted:
    """An entry to boot, and what shows that it runs, beside its mark.

    kernel, tree: of the files, as read_back.not_in_effect() takes them.
    """

    entry: Entry
    kernel: str
    tree: Mapping[str, bytes]


@dataclass(frozen=True)
class _Placed:
    """An entry whose files are on the board, and the method that boots it."""

    wanted: _Wanted
    method: BootMethod


#: The words and the files of a run's knobs.
_Key = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]


class Boots:
    """The boot entries of a study's boards."""

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        self._directory = directory / BOOTS
        self._sums = dict(plan.image_sha256)
        self._used = any(needs_boot(variant.knobs) for variant in plan.variants)
        #: What this process has put on a board's card, by the board and the knobs of a run.
        self._placed: dict[str, dict[_Key, _Placed]] = {}
        self._image: dict[str, str] = {}
        #: Boards, and the kernels whose modules were looked for.
        self._checked: set[tuple[str, str]] = set()

    def know(self, path: str, sha256: str) -> None:
        """Take the hash of a file that was made while the plan is carried out."""
        self._sums[path] = sha256

    def boot(self, name: str, applied: Applied, boot_own: Boot) -> Boot:
        """Return the function that boots a board with the knobs of a run.

        boot_own: boots what the board has by itself. The variants of a plan that have no such knob
        boot in the same way as the others. Raises BoardError, RequestError and DiskError.
        """
        if not self._used or name in names():
            return boot_own
        return partial(self._boot, name, applied, boot_own)

    def put_back(
        self, name: str, open_board: Callable[[str], Board], notify: Notify, *, over: bool
    ) -> str:
        """Put back how a board boots; return why that failed, or "".

        over: the runs are over: whylate's files are removed as well, and the board boots its own
        entry if it has another. Raises RecordingError for a note that is damaged, and DiskError.
        """
        note = self.note(name)
        if note is None or not (note.armed or over):
            return ""
        try:
            with ready(open_board(note.opened), notify_nobody) as board:
                _restore(board, note)
                if over:
                    _remove(board, note)
                    if any(word.startswith(f"{MARK}=") for word in running(board).words):
                        restart(board, notify)
        except (BoardError, LabError) as error:
            return f"how it boots was not put back ({error}): the same command first tries again"
        if over:
            self._forget(name)
        else:
            self._write(name, msgspec.structs.replace(note, armed=False))
        if note.armed:
            notify(f"{note.opened}: what its boot loader reads was put back")
        return ""

    def note(self, name: str) -> Note | None:
        """Return what is to be put back on a board of the plan; raises RecordingError."""
        path = self._path(name)
        return read_plan(path, Note, "there is no note") if path.exists() else None

    # -- a boot

    def _boot(
        self, name: str, applied: Applied, boot_own: Boot, board: Board, notify: Notify
    ) -> None:
        placed = self._still_placed(name, applied, board)
        try:
            if placed is None:
                boot_own(board, notify)
                method = method_for(board, notify)
                note = self._begin(name, applied, board, method)
                wanted = _place(board, method, note.own, applied, name, self._sums)
                # Before the board changes: what a boot loader reads is little.
                files = [board_files.save(board, path) for path in method.touches()]
                note = msgspec.structs.replace(note, files=files, armed=True)
                self._write(name, note)
            else:
                method, wanted = placed.method.on(board), placed.wanted
                note = self._begin(name, applied, board, method)
            self._arm_and_start(name, note, wanted, method, board, notify, cold=placed is not None)
        except BootMethodError as error:
            raise RequestError(str(error)) from None
        self._placed.setdefault(name, {})[_key(applied)] = _Placed(wanted, method)
        now = running(board)
        _restore(board, note)
        self._write(name, msgspec.structs.replace(note, armed=False))
        if wanted.entry.mark not in now.words:
            raise BoardError(
                f"{board.name} booted its own entry instead of that with {_shown(wanted.entry)}: "
                f"its boot loader refused it, or its kernel failed (boot method {method.name})"
            )
        if reason := not_in_effect(wanted.entry, wanted.kernel, now, wanted.tree):
            raise KnobError(f"what is booted: {reason}")
        self._check_modules(board, now.release, applied, notify)

    def _check_modules(self, board: Board, release: str, applied: Applied, notify: Notify) -> None:
        """Say once, of each kernel that a run has put there, that it has no modules."""
        if KERNEL not in applied.boot_files or (board.name, release) in self._checked:
            return
        self._checked.add((board.name, release))
        if warning := missing_modules(board, release):
            notify(warning)

    def _still_placed(self, name: str, applied: Applied, board: Board) -> _Placed | None:
        """Return the entry of a run if a board that is off can be started with it."""
        image = file_for(name, applied.image)
        if self._image.get(name) != image:
            # Another image has none of the files.
            self._placed.pop(name, None)
            self._image[name] = image
        placed = self._placed.get(name, {}).pop(_key(applied), None)
        if placed is None or not placed.method.starts_cold or board.power is None:
            return None
        return placed if board.power.is_on() is False else None

    def _begin(self, name: str, applied: Applied, board: Board, method: BootMethod) -> Note:
        """Return the note of a board, made if there is none for what its card holds."""
        image = file_for(name, applied.image)
        note = self.note(name)
        if note is None or (note.image, note.method) != (image, method.name):
            note = Note(board.name, method.name, method.directory, image, method.own(), [], False)
            self._write(name, note)
        return note

    def _arm_and_start(
        self,
        name: str,
        note: Note,
        wanted: _Wanted,
        method: BootMethod,
        board: Board,
        notify: Notify,
        *,
        cold: bool,
    ) -> None:
        """Boot an entry; where that fails, boot the board's own and put everything back."""
        booting = cold
        try:
            if not cold:
                method.arm(wanted.entry)
                board_files.sync(board)
            booting = True
            method.start(wanted.entry, notify)
        except BoardError as error:
            then = self._return_to_own(name, note, board, notify, booting=booting)
            if isinstance(error, BootMethodError):
                raise
            raise BoardError(f"with {_shown(wanted.entry)}: {error}; {then}") from None

    def _return_to_own(
        self, name: str, note: Note, board: Board, notify: Notify, *, booting: bool
    ) -> str:
        """Have a board boot its own entry again; return whether it does."""
        try:
            if booting:
                if board.power is None:
                    return "switch it off and on: it then boots its own entry"
                notify(f"switching {board.name} off: it did not come up")
                board.power.off()
                board.boot(notify)
            _restore(board, note)
        except BoardError as error:
            return f"nor is it as it was ({error})"
        self._write(name, msgspec.structs.replace(note, armed=False))
        return "it has its own entry again" if booting else "nothing was booted"

    # -- notes

    def _write(self, name: str, note: Note) -> None:
        try:
            # A command line may have secrets.
            self._directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise DiskError(f"{self._directory} cannot be made: {error.strerror}") from None
        write_plan(self._path(name), note)

    def _forget(self, name: str) -> None:
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            raise DiskError(f"{self._path(name)} cannot be removed: {error.strerror}") from None
        with contextlib.suppress(OSError):
            self._directory.rmdir()

    def _path(self, name: str) -> Path:
        return self._directory / f"{path_part(name)}.json"


def _key(applied: Applied) -> _Key:
    files = tuple(sorted(applied.boot_files.items()))
    return applied.kernel_args, applied.left_out, files


def _restore(board: Board, note: Note) -> None:
    """Put back what the boot loader of a board reads; raises BoardError."""
    if not note.armed:
        return
    named_method(board, note.method).disarm()
    # The last first: that is what chooses the entry of the next boot.
    for saved in reversed(note.files):
        board_files.put_back(board, saved)
    board_files.sync(board)


def _remove(board: Board, note: Note) -> None:
    """Remove whylate's files; raises BoardError."""
    staged = named_method(board, note.method).host_directory
    if staged is not None:
        remove_staged(staged)
    else:
        board_files.remove_directory(board, note.directory)


def _place(
    board: Board,
    method: BootMethod,
    own: Entry,
    applied: Applied,
    name: str,
    sums: Mapping[str, str],
) -> _Wanted:
    """Put the files of an entry where the boot loader has them; return the entry.

    Raises BoardError and RequestError.
    """
    staged = method.host_directory
    if staged is None:
        board_files.make_directory(board, method.directory)
    kernel, tree, contents = "", dict[str, bytes](), []
    files: dict[str, str] = {}
    for kind, value in applied.boot_files.items():
        path = file_for(name, value)
        if path.startswith(ON_BOARD):
            if staged is not None:
                raise RequestError(
                    f"knob {kind}: {board.name} loads it by TFTP: name a file of this machine"
                )
            on_board = path.removeprefix(ON_BOARD)
            if not board_files.exists(board, on_board):
                raise RequestError(f"knob {kind}: {board.name} has no file {on_board}")
        else:
            data = _read(kind, path, sums)
            file = f"{sums[path][:16]}-{kind}"
            if staged is None:
                on_board = f"{method.directory}/{file}"
                _upload(board, kind, data, on_board)
            else:
                on_board = stage(staged, file, data)
            contents.append(sums[path])
            kernel = kernel_release(data) if kind == KERNEL else kernel
            tree = identity(data) if kind == DTB else tree
        files[kind] = method.path(on_board)
    entry = with_knobs(own, add=applied.kernel_args, left_out=applied.left_out, files=files)
    return _Wanted(with_mark(entry, contents), kernel, tree)


def _read(kind: str, path: str, sums: Mapping[str, str]) -> bytes:
    if sum_of(path, kind) != sums[path]:
        raise RequestError(f"knob {kind}: {path} is not what it was when the study began")
    try:
        return read_bounded(Path(path), _MOST_FILE)
    except (OSError, ValueError) as error:
        raise RequestError(f"knob {kind}: {path} cannot be read: {error}") from None


def _upload(board: Board, kind: str, data: bytes, path: str) -> None:
    """Put a file on the board, unless it is there from an earlier run."""
    if getattr(board, "over_console", False) and len(data) > _MOST_OVER_CONSOLE:
        raise RequestError(
            f"knob {kind}: {len(data)} bytes take too long over the console of {board.name}: put "
            f"the file on the board, and write {kind} = '{ON_BOARD}/boot/NAME'"
        )
    size = board.run(["stat", "-c", "%s", path])
    if size.status or size.output.strip() != str(len(data)).encode():
        board.put(data, path)


def _shown(entry: Entry) -> str:
    """Return what of an entry a message quotes."""
    return shown(f"{entry.kernel} {entry.mark}", 200)
