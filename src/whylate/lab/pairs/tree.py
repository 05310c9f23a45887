"""A root file system in memory, put together of packages and files, and written as a tarball."""

from __future__ import annotations

import io
import posixpath
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from whylate.files import write_whole
from whylate.lab.errors import LabError
from whylate.lab.packages import contents, read_member

#: Directories that are links into /usr since Debian 12; packages may still have the former paths.
_MERGED = ("bin", "sbin", "lib", "lib64")
#: Directories that a root has, and their modes.
_DIRECTORIES = {"dev": 0o755, "proc": 0o555, "sys": 0o555, "run": 0o755, "tmp": 0o1777,
                "root": 0o700, "etc": 0o755, "var": 0o755}  # fmt: skip
_DPKG = "var/lib/dpkg"
_EXECUTABLE = 0o755


@dataclass
class RootTree:
    """Files by their paths: a member without content, and the content."""

    files: dict[str, tuple[tarfile.TarInfo, bytes]] = field(default_factory=dict)
    _status: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in _MERGED:
            self.link(name, f"usr/{name}")
        for name, mode in _DIRECTORIES.items():
            self._directory(name, mode)

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file of root's."""
        info = tarfile.TarInfo(path)
        info.mode = mode
        self._add(path, info, data)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        info = tarfile.TarInfo(path)
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
        self._add(path, info, b"")

    def install(
        self, package: Path, leave_out: Sequence[str], only: Sequence[str] = ("*",)
    ) -> None:
        """Add files of a package, and its entry in dpkg's database; raises LabError.

        leave_out, only: patterns of paths.
        """
        listed = ["/."]
        with contents(package) as tar:
            for member in tar:
                path = merged(member.name)
                if not path or _matches(path, leave_out) or not _matches(path, only):
                    continue
                if member.islnk():
                    first = self.files.get(merged(member.linkname))
                    if first is None:
                        raise LabError(f"{package.name}: {path} is a link to a file left out")
                    self.file(path, first[1], first[0].mode)
                elif member.isfile():
                    self._add(path, _bare(member, path), read_member(tar, member))
                elif member.issym() or (member.isdir() and path not in self.files):
                    self._add(path, _bare(member, path), b"")
                listed.append(f"/{path}")
        self._enter(package, listed)

    def install_kernel(self, package: Path, modules: Sequence[str]) -> None:
        """Add the kernel of a package, its configuration and some of its modules.

        It is not entered as a package: these are few of its files.
        """
        with contents(package) as tar:
            for member in tar:
                path = merged(member.name)
                if member.isfile() and _is_wanted(path, modules):
                    self._add(path, _bare(member, path), read_member(tar, member))

    def overlay(self, directory: Path) -> None:
        """Add the files of a directory; scripts are executable."""
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            if path.is_file():
                data = path.read_bytes()
                self.file(name, data, _EXECUTABLE if data.startswith(b"#!") else 0o644)

    def write(self, path: Path) -> None:
        """Write the tarball, whole or not at all: the same bytes for the same content."""
        if self._status:
            self.file(f"{_DPKG}/status", "".join(self._status).encode())
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name in sorted(self.files):
                info, data = self.files[name]
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        write_whole(path, out.getvalue())

    def _add(self, path: str, info: tarfile.TarInfo, data: bytes) -> None:
        parent = posixpath.dirname(path)
        if parent and parent not in self.files:
            self._directory(parent, 0o755)
        self.files[path] = (info, data)

    def _directory(self, path: str, mode: int) -> None:
        info = tarfile.TarInfo(path)
        info.type, info.mode = tarfile.DIRTYPE, mode
        self._add(path, info, b"")

    def _enter(self, package: Path, listed: Sequence[str]) -> None:
        control = subprocess.run(
            ["dpkg-deb", "-f", package], capture_output=True, text=True, timeout=60, check=False
        )
        first, _, rest = control.stdout.partition("\n")
        if control.returncode or not first.startswith("Package: "):
            raise LabError(f"{package.name} is not a package: dpkg-deb cannot read it")
        self._status.append(f"{first}\nStatus: install ok installed\n{rest.strip()}\n\n")
        name = first.removeprefix("Package: ")
        self.file(f"{_DPKG}/info/{name}.list", "".join(f"{path}\n" for path in listed).encode())


def merged(name: str) -> str:
    """Return the path of a package's member in a root whose /bin, /sbin and /lib are in /usr."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", ".", "..")]
    if parts and parts[0] in _MERGED:
        # The links themselves are there.
        return "/".join(["usr", *parts]) if len(parts) > 1 else ""
    return "/".join(parts)


def _bare(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    """Return a member as it is written: root's, and of no date."""
    info = tarfile.TarInfo(path)
    info.type, info.mode, info.linkname = member.type, member.mode & 0o7777, member.linkname
    return info


def _is_wanted(path: str, modules: Sequence[str]) -> bool:
    name = PurePosixPath(path)
    if name.match("boot/vmlinuz-*") or name.match("boot/config-*"):
        return True
    if name.name in ("modules.builtin", "modules.order"):
        return True
    below = path.partition("/kernel/")[2]
    return _matches(below, modules)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
