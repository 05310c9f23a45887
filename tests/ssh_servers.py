"""Real SSH servers for tests, each in mount and process namespaces of its own."""

# ruff: noqa: S108 - directories of a board, made for the test
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from network_hosts import Host
from plain_shells import PLAIN_SHELLS

SSHD = "/usr/sbin/sshd"
DROPBEAR = "/usr/sbin/dropbear"
BUSYBOX = "/bin/busybox"

#: All that a board is promised to need, beside the shell.
NEEDED = ("uname", "id", "ls", "mkdir", "rmdir", "chmod", "rm", "mv", "cat", "wc", "true")

#: $1 is the root, $2 mounts of tmpfs as "PATH:OPTIONS", the rest is the command in the root.
BOARD = """
set -e
root=$1 mounts=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for one in null zero random urandom; do
    touch "$root/dev/$one"; mount --bind "/dev/$one" "$root/dev/$one"
done
mkdir -p "$root/dev/shm"
for one in $mounts; do
    mkdir -p "$root${one%%:*}"; mount -t tmpfs -o "${one#*:}" tmpfs "$root${one%%:*}"
done
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class User:
    """The user's side: a key, and an ssh that reads a configuration of the test's."""

    directory: Path
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        make_key(self.key)
        self.known_hosts.touch()
        self.configure()

    @property
    def key(self) -> Path:
        return self.directory / "key"

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"

    @property
    def public_key(self) -> str:
        return self.key.with_suffix(".pub").read_text()

    def configure(self, *lines: str) -> None:
        """Write the configuration that ~/.ssh/config would be, with some lines more."""
        config = self.directory / "config"
        own = (f"IdentityFile {self.key}", "IdentitiesOnly yes",
               f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile none",
               "UpdateHostKeys no")  # fmt: skip
        config.write_text("\n".join([*lines, "Host *", *own]) + "\n")
        # ssh looks for its configuration in the home of the user database, not in $HOME.
        program = self.directory / "bin" / "ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f'#!/bin/sh\nexec {shutil.which("ssh", path="/usr/bin")} -F {config} "$@"\n'
        )
        program.chmod(0o755)

    def know(self, server: Server, address: str = "127.0.0.1") -> None:
        key = " ".join(server.host_key.with_suffix(".pub").read_text().split()[:2])
        name = address if server.port == 22 else f"[{address}]:{server.port}"
        with self.known_hosts.open("a") as file:
            file.write(f"{name} {key}\n")


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


@dataclass
class Server:
    """A server that runs: where it listens, and its processes."""

    process: subprocess.Popen[bytes]
    port: int
    host_key: Path
    log: Path

    def url(self, user: str = "root") -> str:
        return f"ssh://{user}@127.0.0.1:{self.port}"

    def processes(self) -> dict[int, str]:
        """Return what runs in the server's process namespace: host's pid, and its name."""
        first = self.first()
        namespace = (Path("/proc") / str(first) / "ns" / "pid").readlink()
        processes = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError):
                text = (entry / "stat").read_text()
                zombie = text.rsplit(")", 1)[1].split()[0] == "Z"
                if (entry / "ns" / "pid").readlink() == namespace and not zombie:
                    processes[int(entry.name)] = (entry / "comm").read_text().strip()
        return processes

    def first(self) -> int:
        """Return the server's own process: the child of unshare."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def running(self) -> dict[int, str]:
        """Return what runs there besides the server and its sessions."""
        return {pid: name for pid, name in self.processes().items()
                if name not in ("sshd", "dropbear")}  # fmt: skip

    def sessions(self) -> list[int]:
        """Return the server's processes for its connections, the latest last."""
        return sorted(pid for pid, name in self.processes().items()
                      if name in ("sshd", "dropbear") and pid != self.first())  # fmt: skip

    def path(self, inside: str) -> Path:
        """Return a path of the board as the host reaches it."""
        return Path(f"/proc/{self.first()}/root{inside}")

    def stop(self) -> None:
        with contextlib.suppress(OSError, IndexError):
            os.kill(self.first(), signal.SIGKILL)
        self.process.kill()
        self.process.wait(10)


def accepts(port: int) -> bool:
    """Return whether somebody listens at this port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def start(
    command: Sequence[str],
    port: int,
    host_key: Path,
    log: Path,
    listens: Callable[[], bool],
    enter: Sequence[str] = (),
) -> Server:
    """Start a server in namespaces of its own and wait until it listens."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            [*enter, "unshare", "--mount", "--pid", "--fork", "--kill-child", *command],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        if listens():
            return Server(process, port, host_key, log)
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise AssertionError(f"the server does not run: {log.read_text()}")


@contextlib.contextmanager
def openssh(
    directory: Path, user: User, *lines: str, host: Host | None = None, address: str = "127.0.0.1"
) -> Iterator[Server]:
    """Run OpenSSH's server on this machine's files, with a /run of its own.

    host: of a network that the test made, with this address; the port is 22 there.
    """
    directory.mkdir(parents=True)
    key, port = directory / "host_key", free_port() if host is None else 22
    make_key(key)
    (directory / "authorized_keys").write_text(user.public_key)
    own = (f"Port {port}", f"ListenAddress {address}", f"HostKey {key}", "PidFile none",
           f"AuthorizedKeysFile {directory}/authorized_keys", "StrictModes no", "UsePAM no",
           "PasswordAuthentication no", "KbdInteractiveAuthentication no",
           "PermitRootLogin prohibit-password", "MaxStartups 100")  # fmt: skip
    (directory / "sshd_config").write_text("\n".join([*own, *lines]) + "\n")
    script = (
        "mount -t proc proc /proc && mount -t tmpfs -o mode=755 run /run && mkdir /run/sshd && "
        f"{PLAIN_SHELLS} && exec {SSHD} -D -e -f {directory}/sshd_config"
    )
    log = directory / "log"
    server = start(
        ["sh", "-c", script], port, key, log, lambda: "Server listening on" in log.read_text(),
        host.enter if host is not None else (),
    )  # fmt: skip
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class BoardKind:
    """What a board is made of."""

    #: The applets of busybox that are there, with dash as the shell; empty for all, with ash.
    applets: tuple[str, ...] = ()
    #: tmpfs mounts, with their options; the root itself is read-only.
    mounts: tuple[tuple[str, str], ...] = (("/run", "mode=755"), ("/tmp", "mode=1777"))
    #: Programs of this machine that are there too, with their libraries.
    programs: tuple[str, ...] = ()


@contextlib.contextmanager
def board(directory: Path, user: User, kind: BoardKind, *wrap: str) -> Iterator[Server]:
    """Run dropbear on a board of busybox alone, its root read-only."""
    root, port = directory / "root", free_port()
    make_root(root, user, kind)
    key = directory / "host_key"
    make_key(key)
    own_key = root / "etc" / "host_key"
    subprocess.run(["dropbearkey", "-t", "ed25519", "-f", str(own_key)],
                   check=True, capture_output=True)  # fmt: skip
    shown = subprocess.run(["dropbearkey", "-y", "-f", str(own_key)],
                           check=True, capture_output=True, text=True)  # fmt: skip
    line = next(line for line in shown.stdout.splitlines() if line.startswith("ssh-ed25519"))
    key.with_suffix(".pub").write_text(line + "\n")
    mounts = " ".join(f"{path}:{options}" for path, options in kind.mounts)
    server = start(
        [*wrap, "sh", "-c", BOARD, "sh", str(root), mounts, DROPBEAR, "-F", "-E", "-s",
         "-p", f"127.0.0.1:{port}", "-r", "/etc/host_key", "-P", "/dev/pid"],
        port, key, directory / "log", lambda: accepts(port),
    )  # fmt: skip
    try:
        yield server
    finally:
        server.stop()


def make_root(root: Path, user: User, kind: BoardKind) -> None:
    for name in ("bin", "etc", "proc", "sys", "dev", "root/.ssh", "home/me/.ssh", "run", "tmp",
                 "var/tmp", "mnt"):  # fmt: skip
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    listed = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
    for applet in kind.applets or tuple(listed.stdout.split()):
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    if kind.applets:
        # busybox's shell runs every applet, whether it has a link or not; dash does not.
        (root / "bin/busybox").rename(root / "bin/.applets")
        for applet in kind.applets:
            (root / "bin" / applet).unlink()
            (root / "bin" / applet).symlink_to(".applets")
        copy_program(root, "/usr/bin/dash")
        (root / "bin/sh").symlink_to("/usr/bin/dash")
    for program in (DROPBEAR, *kind.programs):
        copy_program(root, program)
    (root / "etc/passwd").write_text("root::0:0::/root:/bin/sh\nme::1000:1000::/home/me:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nme:x:1000:\n")
    (root / "etc/shells").write_text("/bin/sh\n")
    for home in (root / "root", root / "home/me"):
        (home / ".ssh/authorized_keys").write_text(user.public_key)
        home.chmod(stat.S_IRWXU)
        (home / ".ssh").chmod(stat.S_IRWXU)
    for path in (root / "home/me", *(root / "home/me").rglob("*")):
        os.chown(path, 1000, 1000)


def copy_program(root: Path, program: str) -> None:
    """Copy a program of this machine to its place in a root, with the libraries it loads."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    files = [word for line in listing.splitlines() for word in line.split() if word.startswith("/")]
    for name in (program, *files):
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(name, target)
