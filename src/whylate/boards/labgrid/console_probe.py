"""The probe on a board that has nothing but its serial console."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.boards.board import Finished, Notify, StartedProbe
from whylate.boards.console.shell import KEEPALIVE_S, ConsoleShell
from whylate.boards.deploy import PLACES, REMOVE, REMOVE_S, VERSION, survey
from whylate.boards.errors import BoardError
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary


class ConsoleProbe:
    """Uploads the probe over a console once, starts it there, and removes it.

    Not a Deployment: that reads lines from the probe's stream before the probe starts, and a
    console's stream has only frames.
    """

    def __init__(self, board: str, shell: ConsoleShell) -> None:
        self.name = board
        self._shell = shell
        self._directory: str | None = None

    def start(self, notify: Notify) -> StartedProbe:
        """Start the probe that fits; raises BoardError."""
        seen = survey(self, list(PLACES))
        try:
            binary = probe_binary(seen.machine)
        except NoProbeError as error:
            raise BoardError(f"{self.name}: {error}") from None
        if seen.directory is None:
            raise BoardError(
                f"{self.name}: no place for the probe ({'; '.join(seen.refused)}): mount a "
                "tmpfs there without noexec"
            )
        self._directory = seen.directory
        path = f"{seen.directory}/whylate-probe.{binary.sha256}"
        if path not in seen.files or not self._fits(path, binary):
            self._put(binary, path, notify)
            if not self._fits(path, binary):
                raise BoardError(f"{self.name}: the probe does not run from {seen.directory}")
        return StartedProbe(self._shell.stream([path]), binary, KEEPALIVE_S)

    def remove(self) -> None:
        """Remove what was uploaded; raises BoardError."""
        if self._directory is not None:
            self.run(["sh", "-c", REMOVE, "whylate", self._directory], timeout_s=REMOVE_S)
            self._directory = None

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command over the console, for survey(); raises BoardError."""
        return self._shell.run(argv, data=data, timeout_s=timeout_s)

    def _fits(self, path: str, binary: ProbeBinary) -> bool:
        """Return whether that probe is there and runs: the board may mount it noexec."""
        script = 'wc -c <"$1"; sha256sum "$1" 2>/dev/null; "$1" --version'
        done = self._shell.run(["sh", "-c", script, "whylate", path])
        text = done.output.decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines()]
        if VERSION not in lines or str(binary.path.stat().st_size) not in lines:
            return False
        hashes = [line.split()[0] for line in lines if line.endswith(path)]
        return not hashes or hashes == [binary.sha256]

    def _put(self, binary: ProbeBinary, path: str, notify: Notify) -> None:
        """Upload the probe, and show the progress in steps of 10 %."""
        what = f"copying the probe to {self.name} over its console"
        shown = 0

        def progress(done: int, size: int) -> None:
            nonlocal shown
            percent = 100 * done // max(size, 1)
            if percent >= shown + 10:
                shown = percent
                notify(f"{what}: {percent} %")

        # That takes a minute at 115200 baud.
        notify(what)
        self._shell.put(binary.path.read_bytes(), path, 0o700, progress)
