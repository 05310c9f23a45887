"""labgrid's own coordinator, exporters and client: on the loopback interface, or in a network."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench_boards import free_port

from network_hosts import Host

TOOLS = Path(sys.executable).parent


@dataclass(frozen=True)
class Exporting:
    """A host of a network: its own address, and the coordinator's as it reaches that.

    isolated: its name, where it offers itself as the only way to what it exports.
    """

    host: Host
    own: str
    coordinator: str
    isolated: str = ""

    @property
    def enter(self) -> tuple[str, ...]:
        if not self.isolated:
            return self.host.enter
        named = ("unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.isolated)
        return (*self.host.enter, *named)


class Coordinator:
    """A coordinator, and the exporters that a test gives it.

    host: of a network that the test made; else all is on the loopback interface.
    """

    def __init__(self, directory: Path, host: Host | None = None) -> None:
        self._directory = directory
        self._enter = host.enter if host is not None else ()
        self.address = "127.0.0.1:20408" if host is not None else f"127.0.0.1:{free_port()}"
        # Of a host with a network of its own its exporters reach each address.
        listens_at = "0.0.0.0:20408" if host is not None else self.address
        self._log = (directory / "labgrid.log").open("wb")
        self._exporters: list[subprocess.Popen[bytes]] = []
        self._coordinator = self._start(self._enter, "labgrid-coordinator", "-l", listens_at)
        self._call((["places"], ""))

    def export(
        self, name: str, group: str, resources: Sequence[str], at: Exporting | None = None
    ) -> subprocess.Popen[bytes]:
        """Start an exporter that offers these resources in a group."""
        exports = self._directory / f"{name}.yaml"
        exports.write_text(f"{group}:\n" + "".join(f"  {resource}\n" for resource in resources))
        coordinator, own = (self.address, "127.0.0.1") if at is None else (at.coordinator, at.own)
        exporter = self._start(
            at.enter if at is not None else (),
            *("labgrid-exporter", "-c", coordinator, "-n", name, "--hostname", own),
            *(("--isolated",) if at is not None and at.isolated else ()),
            str(exports),
        )
        self._exporters.append(exporter)
        return exporter

    def client(self, *words: str, user: str = "", host: str = "") -> str:
        """Run labgrid-client, as somebody else where that is said; return what it prints."""
        environment = dict(os.environ, LG_COORDINATOR=self.address)
        if user:
            environment |= {"LG_USERNAME": user, "LG_HOSTNAME": host}
        return subprocess.run(
            [*self._enter, TOOLS / "labgrid-client", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout

    def create(self, place: str, match: str) -> None:
        self.create_all({place: match})

    def create_all(self, places: Mapping[str, str]) -> None:
        """Create places, each of what its pattern matches."""
        calls: list[tuple[list[str], str | None]] = []
        for place, match in places.items():
            group = match.rpartition("/")[0]
            calls.append((["-p", place, "create"], None))
            calls.append((["-p", place, "add-match", match], None))
            if not group.startswith("gone/"):
                calls.append((["resources"], group))
        self._call(*calls)

    def owner(self, place: str) -> str | None:
        """Who has a place, as labgrid itself says."""
        for line in self.client("-p", place, "show").splitlines():
            if line.strip().startswith("acquired:"):
                return line.split(":", 1)[1].strip()
        return None

    def free(self, place: str) -> None:
        """Release a place, whoever has it."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.client("-p", place, "release", "--kick")

    def die(self) -> None:
        """Without a word, as when its host loses power."""
        self._coordinator.kill()
        self._coordinator.wait()

    def close(self) -> None:
        # The exporter first, while there is somebody to leave; it ends its ser2net.
        for process in (*self._exporters, self._coordinator):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def _start(self, enter: Sequence[str], tool: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*enter, TOOLS / tool, *words], cwd=self._directory, stdout=self._log, stderr=self._log
        )

    def _call(self, *calls: tuple[list[str], str | None]) -> None:
        """Make calls of labgrid-client: see labgrid_calls.py."""
        script = Path(__file__).with_name("labgrid_calls.py")
        subprocess.run(
            [*self._enter, sys.executable, script, json.dumps(calls)],
            env=dict(os.environ, LG_COORDINATOR=self.address),
            capture_output=True,
            check=True,
            timeout=60,
        )


@contextmanager
def coordinator(directory: Path, resources: Sequence[str]) -> Iterator[Coordinator]:
    """Run a coordinator, and an exporter `bench` that offers the group `board7`."""
    made = Coordinator(directory)
    try:
        made.export("bench", "board7", resources)
        yield made
    finally:
        made.close()
