"""Hosts of a network that a test makes: network namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

#: A namespace's name begins with it: what a killed test leaves is found by it.
PREFIX = "whylate"
#: TEST-NET-2 of RFC 5737, of which each cable has four addresses.
_NET = "198.51.100"
_MOST_CABLES = 64
_CLONE_NEWNET = 0x40000000

T = TypeVar("T")


def why_no_network() -> str:
    """Return why no namespaces can be made here, or ""."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    lacking = [tool for tool in ("ip", "nsenter") if shutil.which(tool) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed (Debian: iproute2, util-linux)"
    # A container may have root without the right to make namespaces.
    probe = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "type", "veth"], capture_output=True, check=False
    )
    return "" if probe.returncode == 0 else "no network namespaces or no veth devices here"


@dataclass(frozen=True)
class Host:
    """A machine with a network of its own, and this machine's files and processes."""

    namespace: str

    @property
    def enter(self) -> tuple[str, ...]:
        """The words before a command that runs there."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    def inside(self, make: Callable[[], T]) -> T:
        """Return what a call makes there: the sockets that it opens are this host's."""
        made: list[T] = []

        def work() -> None:
            with Path(f"/run/netns/{self.namespace}").open() as namespace:
                status = ctypes.CDLL(None).setns(namespace.fileno(), _CLONE_NEWNET)
            assert status == 0
            made.append(make())

        # Only this thread goes there, and it ends there.
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return made[0]

    def kill(self) -> None:
        """End all that runs there, without a word: as when the host loses power."""
        pids = _ip("netns", "pids", self.namespace).split()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@dataclass(frozen=True)
class Cable:
    """Two hosts' addresses on a wire of their own."""

    near: str
    far: str


class Network:
    """Hosts and cables, which go when it is closed. No cable leads to the machine's own network."""

    def __init__(self) -> None:
        self._hosts: list[Host] = []
        self._cables = 0

    def host(self, name: str) -> Host:
        """Make a host with a loopback interface, and no cable yet."""
        host = Host(f"{PREFIX}-{os.getpid()}-{name}")
        _ip("netns", "add", host.namespace)
        self._hosts.append(host)
        _ip("-n", host.namespace, "link", "set", "lo", "up")
        return host

    def cable(self, near: Host, far: Host) -> Cable:
        """Join two hosts, which reach each other over it and nobody else."""
        number, self._cables = self._cables, self._cables + 1
        assert number < _MOST_CABLES
        device = f"c{number}"
        cable = Cable(f"{_NET}.{4 * number + 1}", f"{_NET}.{4 * number + 2}")
        _ip(
            *("link", "add", device, "netns", near.namespace, "type", "veth"),
            *("peer", "name", device, "netns", far.namespace),
        )
        for host, address in ((near, cable.near), (far, cable.far)):
            _ip("-n", host.namespace, "address", "add", f"{address}/30", "dev", device)
            _ip("-n", host.namespace, "link", "set", device, "up")
        return cable

    def close(self) -> None:
        """End what still runs on its hosts, and remove them."""
        for host in self._hosts:
            host.kill()
            _ip("netns", "delete", host.namespace)


def _ip(*words: str) -> str:
    return subprocess.run(
        ["ip", *words], check=True, capture_output=True, text=True, timeout=10
    ).stdout


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """Make a network for the time of a context."""
    made = Network()
    try:
        yield made
    finally:
        made.close()
