"""Reads what a virtual board needs of a root: its kernel, modules, command line and files.

Nothing of it is trusted, and nothing is extracted to this machine's disk: the files go from the
tarball into a new initial RAM file system, where their names mean something on the board alone.
"""

from __future__ import annotations

import re
import stat
import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from whylate.lab.errors import LabError
from whylate.lab.image import MAX_FILE, module_of
from whylate.lab.initramfs import Archive
from whylate.tarballs import TarballError, member_name, members, opened_tarball, unpack
from whylate.text import plain

#: A board unpacks all of it into its memory.
MAX_TOTAL = 384 << 20
MAX_ENTRIES = 100_000
#: The file with the words of the command line: its length, and that of the words.
COMMAND_LINE = "boot/cmdline.txt"
_MAX_LINE, _MAX_WORDS = 1 << 16, 1000
DEVICE_TREE = "boot/board.dtb"
_MAX_TREE = 1 << 21
_MAX_MODULE = 32 << 20
#: Where whylate's own files go.
OURS = "whylate"
_KERNEL = re.compile(r"boot/vmlinuz-([A-Za-z0-9._+~-]{1,100})")
#: Of no use in the memory of a board that has booted.
_LEFT_OUT = re.compile(r"boot/(vmlinuz|System\.map|initrd\.img)-[^/]*")
_MODULE = re.compile(r"(?:usr/)?lib/modules/([^/]+)/.+\.ko(?:\.[a-z]+)?")
_BUILTIN = re.compile(r"(?:usr/)?lib/modules/([^/]+)/modules\.builtin")
_WORD = re.compile(r"[!-~]{1,200}")
_NODES = {
    tarfile.CHRTYPE: stat.S_IFCHR,
    tarfile.BLKTYPE: stat.S_IFBLK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}


@dataclass
class Root:
    """What is read of a root, file by file.

    kernels: images by release. modules: packed contents by release and name, of the wanted ones.
    builtin: names of what is built into a kernel, by release.
    """

    wanted: frozenset[str]
    kernels: dict[str, bytes] = field(default_factory=dict)
    modules: dict[tuple[str, str], bytes] = field(default_factory=dict)
    builtin: dict[str, frozenset[str]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    device_tree: bytes | None = None
    files: Archive = field(default_factory=Archive)

    @property
    def release(self) -> str:
        """The release of its only kernel; raises LabError."""
        if len(self.kernels) != 1:
            names = ", ".join(sorted(self.kernels)) or "none"
            raise LabError(f"a root has exactly one kernel, boot/vmlinuz-RELEASE (here: {names})")
        return next(iter(self.kernels))

    def module(self, name: str) -> bytes | None:
        """Return a module of its kernel, unpacked; None: built in, or absent.

        Raises LabError where it is neither there nor built in.
        """
        release = self.release
        packed = self.modules.get((release, name))
        if packed is not None:
            return _unpack(name, packed)
        # Without that list nobody knows: the board reports what it misses.
        if release in self.builtin and name not in self.builtin[release]:
            raise LabError(
                f"the kernel {release} has no module {name} in lib/modules/{release}, and does not "
                "have it built in"
            )
        return None


def read_root(path: Path, wanted: frozenset[str]) -> Root:
    """Return what a tarball has; raises LabError for what no board should boot.

    wanted: names of modules.
    """
    root = Root(wanted)
    total = entries = 0
    try:
        with opened_tarball(path) as archive:
            for member in members(archive):
                name = member_name(path, member.name)
                entries += 1
                total += member.size if member.isreg() else 0
                if entries > MAX_ENTRIES or total > MAX_TOTAL:
                    raise LabError(
                        f"it has more than {MAX_ENTRIES:,} files or {MAX_TOTAL >> 20} MiB, and a "
                        "virtual board keeps all of them in its memory"
                    )
                if name.split("/")[0] == OURS:
                    raise LabError(f"it has a file {plain(name, 80)}, where whylate's own go")
                if name:
                    _add(root, path, archive, member, name)
    except (TarballError, LabError) as error:
        text = str(error)
        raise LabError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    return root


def _add(
    root: Root, path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str
) -> None:
    """Add a member to what is read; raises LabError and TarballError."""
    mode, owner = member.mode & 0o7777, (member.uid & 0xFFFFFFFF, member.gid & 0xFFFFFFFF)
    if member.isdir():
        root.files.directory(name, mode, owner)
    elif member.issym():
        root.files.link(name, member.linkname[:4095], owner)
    elif member.islnk():
        target = member_name(path, member.linkname)
        if not root.files.hard_link(name, target) and not _LEFT_OUT.fullmatch(target):
            raise LabError(
                f"{plain(name, 80)} is a hard link to {plain(target, 80)}, no file of it"
            )
    elif member.type in _NODES:
        device = (member.devmajor & 0xFFFFFFFF, member.devminor & 0xFFFFFFFF)
        root.files.node(name, _NODES[member.type] | mode, device, owner)
    elif member.isreg():
        if member.size > MAX_FILE:
            raise LabError(f"{plain(name, 80)} has more than {MAX_FILE >> 20} MiB")
        file = archive.extractfile(member)
        data = b"" if file is None else file.read()
        _note(root, name, data)
        if not _LEFT_OUT.fullmatch(name):
            root.files.file(name, data, mode, owner)
    else:
        raise LabError(f"{plain(name, 80)} is neither a file, a directory, a link nor a device")


def _note(root: Root, name: str, data: bytes) -> None:
    """Keep what a boot needs of a file; raises LabError."""
    if match := _KERNEL.fullmatch(name):
        root.kernels[match[1]] = data
    elif match := _MODULE.fullmatch(name):
        module = module_of(PurePosixPath(name))
        if module in root.wanted:
            root.modules[match[1], module] = data
    elif match := _BUILTIN.fullmatch(name):
        lines = data.decode("utf-8", "replace").splitlines()
        root.builtin[match[1]] = frozenset(module_of(PurePosixPath(line)) for line in lines)
    elif name == COMMAND_LINE:
        root.words = _parse_words(data)
    elif name == DEVICE_TREE:
        if len(data) > _MAX_TREE:
            raise LabError(f"{DEVICE_TREE} has more than {_MAX_TREE >> 20} MiB")
        root.device_tree = data


def _parse_words(data: bytes) -> tuple[str, ...]:
    """Return the words of a command line; raises LabError."""
    text = data[:_MAX_LINE].decode("utf-8", "replace").strip()
    words = tuple(text.split())
    if len(data) > _MAX_LINE or len(" ".join(words)) > _MAX_WORDS or "\n" in text:
        raise LabError(f"{COMMAND_LINE} is one line of at most {_MAX_WORDS:,} characters")
    for word in words:
        if not _WORD.fullmatch(word):
            raise LabError(f"{COMMAND_LINE}: {plain(word, 80)} is no kernel argument")
    return words


def _unpack(name: str, packed: bytes) -> bytes:
    """Return a module as the kernel takes it; raises LabError."""
    try:
        data = unpack(packed, _MAX_MODULE + 1)
    except TarballError as error:
        raise LabError(f"module {name}: {error}") from None
    if len(data) > _MAX_MODULE:
        raise LabError(f"module {name} has more than {_MAX_MODULE >> 20} MiB")
    return data
