"""labgrid's own coordinator, exporter and client, on the loopback interface."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench_boards import free_port
from bench_requests import wait_until

TOOLS = Path(sys.executable).parent


class Coordinator:
    """A coordinator, and an exporter that offers the group `board7`."""

    def __init__(self, directory: Path, resources: Sequence[str]) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        exports = directory / "exports.yaml"
        exports.write_text("board7:\n" + "".join(f"  {resource}\n" for resource in resources))
        self._log = (directory / "labgrid.log").open("wb")
        self._coordinator = self._start(directory, "labgrid-coordinator", "-l", self.address)
        assert wait_until(lambda: self._places() is not None)
        self._exporter = self._start(
            directory, "labgrid-exporter", "-c", self.address, "-n", "bench",
            "--hostname", "127.0.0.1", str(exports),
        )  # fmt: skip

    def client(self, *words: str, user: str = "", host: str = "") -> str:
        """Run labgrid-client, as somebody else where that is said; return what it prints."""
        environment = dict(os.environ, LG_COORDINATOR=self.address)
        if user:
            environment |= {"LG_USERNAME": user, "LG_HOSTNAME": host}
        return subprocess.run(
            [TOOLS / "labgrid-client", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout

    def create(self, place: str, match: str) -> None:
        self.client("-p", place, "create")
        self.client("-p", place, "add-match", match)
        group = match.rpartition("/")[0]
        if group == "bench/board7":
            assert wait_until(lambda: group in self.client("resources"))

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
        for process in (self._exporter, self._coordinator):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def _start(self, directory: Path, tool: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [TOOLS / tool, *words], cwd=directory, stdout=self._log, stderr=self._log
        )

    def _places(self) -> str | None:
        try:
            return self.client("places")
        except subprocess.CalledProcessError:
            return None


@contextmanager
def coordinator(directory: Path, resources: Sequence[str]) -> Iterator[Coordinator]:
    made = Coordinator(directory, resources)
    try:
        yield made
    finally:
        made.close()
