"""An SSH server for virtual boards with a network: Debian's dropbear and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.network import NETWORK_SCRIPT, SERVICES
from whylate.lab.packages import contents, packages_of, read_member

PACKAGES = ("dropbear-bin", "libc6", "libcrypt1", "libtomcrypt1", "libtommath1", "libgmp10",
            "zlib1g")  # fmt: skip
#: Libraries of these packages that dropbear needs; the others are skipped.
LIBRARIES = ("ld-linux", "ld.so", "libc.so", "libc-", "libcrypt.so", "libtomcrypt.so",
             "libtommath.so", "libgmp.so", "libz.so", "libnss_files", "libnss_compat")  # fmt: skip
#: The host reaches the board by a forwarded port.
SCRIPT = NETWORK_SCRIPT + b"/usr/sbin/dropbear -R -s -p 22\n"


def ssh_files(
    board: VirtualBoard, public_key: str, notify: Callable[[str], None]
) -> list[tuple[str, bytes, int]]:
    """Return the files that make a virtual board answer SSH for one key of root.

    public_key: a line as in authorized_keys. Raises LabError.
    """
    if "\n" in public_key.strip() or not public_key.strip():
        raise LabError("a public key is one line")
    cache = cache_directory()
    files: dict[str, tuple[bytes, int]] = {}
    with building(cache, notify):
        packages = packages_of(board, cache)
        for name in PACKAGES:
            files |= _extract(packages.fetch(name, notify))
    # Since Debian 13 packages have no /lib, where programs look for the loader.
    loaders = {path: file for path, file in files.items() if path.startswith("/usr/lib/ld-")}
    files |= {path.removeprefix("/usr"): file for path, file in loaders.items()}
    return [
        *((path, data, mode) for path, (data, mode) in files.items()),
        ("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644),
        ("/etc/shells", b"/bin/sh\n", 0o644),
        ("/etc/dropbear/README", b"Host keys are made when they are first needed.\n", 0o644),
        ("/root/.ssh/authorized_keys", public_key.strip().encode() + b"\n", 0o600),
        (SERVICES, SCRIPT, 0o644),
    ]


def _extract(package: Path) -> dict[str, tuple[bytes, int]]:
    """Return the server and the libraries in a package, links resolved to files."""
    files: dict[str, tuple[bytes, int]] = {}
    links: dict[str, str] = {}
    with contents(package) as tar:
        for member in tar:
            path = PurePosixPath("/") / member.name
            if path.name != "dropbear" and not path.name.startswith(LIBRARIES):
                continue
            if member.issym():
                links[str(path)] = str(path.parent / member.linkname)
            elif member.isfile() and (path.name == "dropbear" or ".so" in path.name):
                files[str(path)] = (read_member(tar, member), 0o755)
    for link, target in links.items():
        if target in files:
            files[link] = files[target]
    return files
