"""Debian packages of any architecture, fetched with apt and never installed.

apt uses private lists and a private cache: the architecture is not added to the user's system.
Fetched packages are reused until an update is requested. One process at a time fetches into a
directory: another waits, and finds what was fetched meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whylate.files import sha256_of, write_whole
from whylate.lab.cache import building
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.sums import cached_sha256
from whylate.starting import kill_and_reap, signals_wait

#: Long enough for a slow mirror, short enough not to look like a hang.
FETCH_S = 900
#: The suite of the system's own release with newer packages.
BACKPORTS = "backports"


class Packages:
    """The packages of one architecture in a private directory.

    suite: only those of another suite on the system's mirrors: BACKPORTS of the system's release,
    or the name of a release. None: what the system itself would install.
    """

    def __init__(self, directory: Path, arch: str, suite: str | None = None) -> None:
        if suite is not None and suite == system_release():
            suite = None
        self._directory = directory / (arch if suite is None else f"{arch}-{suite}")
        self._suite = suite
        self._arch = arch
        self._updated = False

    def has(self, name: str) -> bool:
        """Return whether a package is cached; the one for which a metapackage stands, if it is."""
        debs = self._directory / "debs"
        note = debs / f"{name}.is"
        return (debs / (note.read_text() if note.exists() else name)).is_dir()

    def fetch(self, name: str, notify: Callable[[str], None], *, update: bool = False) -> Path:
        """Return the package file, fetched unless it is cached; raises LabError.

        update: look for a newer version first.
        """
        return self.fetch_all([name], notify, update=update)[0]

    def fetch_all(
        self, names: Sequence[str], notify: Callable[[str], None], *, update: bool = False
    ) -> list[Path]:
        """Return the package files, as fetch() does; missing ones are fetched together."""
        if not update:
            files = self._kept_files(names)
            if None not in files.values():
                return [file for file in files.values() if file is not None]
        with building(self._directory, notify):
            return self._fetch_missing(names, notify, update=update)

    def _fetch_missing(
        self, names: Sequence[str], notify: Callable[[str], None], *, update: bool
    ) -> list[Path]:
        debs = self._directory / "debs"
        # Another process may have fetched them while this one waited.
        files = dict.fromkeys(names) if update else self._kept_files(names)
        missing = [name for name, file in files.items() if file is None]
        if missing:
            self._update(notify)
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            notify(f"fetching {missing[0]}{more} for {self._arch}")
            fresh = debs / f"{missing[0]}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            self._run("apt-get", "-qq", "download", *missing, cwd=fresh)
            for name in missing:
                files[name] = _keep(name, fresh, debs)
            shutil.rmtree(fresh, ignore_errors=True)
        return [file for file in files.values() if file is not None]

    def _kept_files(self, names: Sequence[str]) -> dict[str, Path | None]:
        debs = self._directory / "debs"
        return {name: _kept(debs / name) for name in names}

    def dependency(
        self, name: str, prefix: str, notify: Callable[[str], None], *, update: bool = False
    ) -> str:
        """Return the package with that prefix on which a metapackage depends; raises LabError."""
        note = self._directory / "debs" / f"{name}.is"
        if note.exists() and not update:
            return note.read_text()
        with building(self._directory, notify):
            if note.exists() and not update:
                return note.read_text()
            self._update(notify)
            text = self._run("apt-cache", "show", "--no-all-versions", name)
            depends = [line for line in text.splitlines() if line.startswith("Depends:")]
            words = depends[0].replace(",", " ").split() if depends else []
            kernels = [word for word in words if word.startswith(prefix)]
            if not kernels:
                raise LabError(f"Debian's {name} for {self._arch} does not name a kernel")
            note.parent.mkdir(parents=True, exist_ok=True)
            write_whole(note, kernels[0].encode())
            return kernels[0]

    def _update(self, notify: Callable[[str], None]) -> None:
        if self._updated:
            return
        for program in ("apt-get", "dpkg-deb"):
            if shutil.which(program) is None:
                raise LabError(
                    f"{program} is not here: the virtual boards' kernels come from Debian's "
                    "packages, so their images are made on Debian or Ubuntu"
                )
        notify(f"asking apt for packages for {self._arch}")
        for part in ("lists/partial", "cache/archives/partial", "debs"):
            (self._directory / part).mkdir(parents=True, exist_ok=True)
        (self._directory / "status").touch()
        if self._suite is not None:
            self._write_sources(self._suite)
        # A missing index (on a mirror during its sync) may not be the one that is needed.
        self._run("apt-get", "-qq", "update", check=False)
        self._updated = True

    def _write_sources(self, suite: str) -> None:
        """Write a list of sources: the suite on the mirrors that the system itself uses."""
        mirrors = set()
        for line in _system_targets().splitlines():
            site, codename, component, key = (line.split("|") + [""] * 4)[:4]
            if component == "main" and codename and "-" not in codename:
                option = f"[signed-by={key}] " if key.startswith("/") else ""
                named = f"{codename}-{suite}" if suite == BACKPORTS else suite
                mirrors.add(f"deb {option}{site} {named} main")
        if not mirrors:
            raise LabError(f"apt names no mirror of Debian here that could have {suite}")
        (self._directory / "sources.list").write_text("\n".join(sorted(mirrors)) + "\n")

    def _run(self, program: str, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        here = self._directory
        options = {
            "Dir::State::lists": here / "lists",
            "Dir::State::status": here / "status",
            "Dir::Cache": here / "cache",
            "APT::Architecture": self._arch,
            "APT::Architectures": self._arch,
            "APT::Sandbox::User": "root",
            "Acquire::Retries": "3",
            "Debug::NoLocking": "1",
        }
        if self._suite is not None:
            options |= {
                "Dir::Etc::sourcelist": here / "sources.list",
                "Dir::Etc::sourceparts": "/nonexistent",
            }
        command = [program]
        for key, value in options.items():
            command += ["-o", f"{key}={value}"]
        try:
            done = subprocess.run(
                [*command, *words],
                cwd=cwd,
                capture_output=True,
                text=True,
                timeout=FETCH_S,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"{program} {words[-1]} took longer than {FETCH_S} s") from None
        if check and done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
            why = lines[0][3:203] if lines else f"status {done.returncode}"
            raise LabError(
                f"apt cannot get {words[-1]} for {self._arch}: {why} "
                "(does /etc/apt/sources.list name a mirror that has this architecture?)"
            )
        return done.stdout


def packages_of(board: VirtualBoard, cache: Path) -> Packages:
    """Return the packages that a board boots, kept below the lab's cache."""
    description = board.description
    return Packages(cache / "packages", description.debian_arch, description.release or None)


def system_release() -> str:
    """Return the name of this system's release; "" where it has none."""
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""


def _system_targets() -> str:
    """Return the sources of apt on this system, a line each."""
    form = "$(SITE)|$(CODENAME)|$(COMPONENT)|$(SIGNED_BY)"
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", form],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


def _keep(name: str, fresh: Path, debs: Path) -> Path:
    """Move a fetched package into a directory of its own; raises LabError."""
    files = list(fresh.glob(f"{name}_*.deb"))
    if len(files) != 1:
        raise LabError(f"apt-get did not leave one package file for {name}")
    here, own = debs / name, debs / f"{name}.own"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    # apt has verified it against the archive's signed list: later the hash suffices.
    (own / "sha256").write_text(sha256_of(files[0]))
    files[0].rename(own / files[0].name)
    shutil.rmtree(here, ignore_errors=True)
    own.rename(here)
    return here / files[0].name


def _kept(directory: Path) -> Path | None:
    """Return the cached package, if it is unchanged."""
    files = list(directory.glob("*.deb"))
    try:
        recorded = (directory / "sha256").read_text().strip()
    except OSError:
        return None
    return files[0] if len(files) == 1 and recorded == cached_sha256(files[0]) else None


@contextmanager
def contents(package: Path) -> Iterator[tarfile.TarFile]:
    """Read a package's files as a tar stream; raises LabError."""
    with contextlib.ExitStack() as started:
        with signals_wait():
            process = subprocess.Popen(
                ["dpkg-deb", "--fsys-tarfile", str(package)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            started.callback(kill_and_reap, process)
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                yield tar
        except tarfile.TarError as error:
            raise LabError(f"{package.name} is not a package: {error}") from None


def read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the content of a plain file in a package."""
    file = tar.extractfile(member)
    assert file is not None  # noqa: S101 - a plain file
    return file.read()
