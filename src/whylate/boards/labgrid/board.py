"""A board on a labgrid bench."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from whylate.boards.board import BoardError, Finished, StartedProbe, Tell, tell_nobody
from whylate.boards.console.drain import DrainedConsole
from whylate.boards.console.shell import ConsoleShell, Login
from whylate.boards.labgrid.calls import bounded
from whylate.boards.labgrid.card import LabgridCard, card_of
from whylate.boards.labgrid.console_probe import ConsoleProbe
from whylate.boards.labgrid.drivers import driver_of, named, ssh_board
from whylate.boards.labgrid.line import DriverChannel
from whylate.boards.labgrid.signs import alive, greets, last_words
from whylate.boards.labgrid.supply import LabgridPower
from whylate.boards.labgrid.watched import WatchedStream
from whylate.boards.power import SEQUENCER, PowerSequencer
from whylate.boards.ssh import SshBoard
from whylate.boards.state import state_directory
from whylate.probe.client import Stream

#: Far beyond what a board takes that boots at all.
BOOT_S = 180.0
#: A board that is silent for so long is taken for dead.
SILENCE_S = 30.0
_RETRY_S = 1.0
#: Boards on a bench are written anew all the time and have another host key after it: labgrid's
#: own SSHDriver does the same.
SSH_OPTIONS = ("-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oLogLevel=ERROR")


class Source(Protocol):
    """Where a labgrid target comes from: an environment file, or a place."""

    @property
    def state_name(self) -> str:
        """The name under which its console's log is kept."""

    def take(self, tell: Tell) -> Any:
        """Take it for us and return labgrid's target; raises BoardBusyError, BoardError."""

    def release(self) -> None:
        """Let others have it; raises BoardError."""

    def trouble(self) -> str | None:
        """Return why we do not have it any more, or None."""


@dataclass(frozen=True)
class BenchOptions:
    """What may be different from board to board; times in seconds."""

    boot_s: float = BOOT_S
    silence_s: float = SILENCE_S
    #: Who to log in as on the console.
    login: Login = field(default_factory=Login)
    ssh_options: tuple[str, ...] = SSH_OPTIONS
    sequencer: PowerSequencer = SEQUENCER


class LabgridBoard:
    """A target of an environment file, or a place of a coordinator. Implements Board.

    Over SSH where the target has a NetworkService, else over its console. What it is made of is
    known once it is held: power and console are None before.
    """

    def __init__(self, name: str, source: Source, options: BenchOptions | None = None) -> None:
        self.name = name
        self._source = source
        self._options = options or BenchOptions()
        self._tell: Tell = tell_nobody
        self._held = False
        self._target: Any = None
        self._power: LabgridPower | None = None
        self._console: DrainedConsole | None = None
        self._line: Any = None
        self._channel: DriverChannel | None = None
        self._ssh: SshBoard | None = None
        self._address: tuple[str, int] | None = None
        self._shell: ConsoleShell | None = None
        self._probe: ConsoleProbe | None = None
        #: The thread that speaks over the console; no other one may.
        self._speaker: threading.Thread | None = None
        #: The speaker's shell, once another thread has hung up on it; the speaker closes it.
        self._hung_up: ConsoleShell | None = None
        self._cut = False
        self._attaching = threading.Lock()
        #: Whether it was on before we switched anything; None: nothing was switched yet.
        self._found_on: bool | None = None
        self._switched_on = False
        self._stay_on = False

    @property
    def power(self) -> LabgridPower | None:
        """Its supply, where the target has a driver with the PowerProtocol."""
        return self._power

    @property
    def console(self) -> DrainedConsole | None:
        """Its console, where the target has a driver with the ConsoleProtocol."""
        return self._console

    @property
    def card(self) -> LabgridCard:
        """Its card, for flash(); raises BoardError where it has no SD mux, or is not held."""
        if not self._held:
            raise BoardError(f"{self.name} is not held")
        return card_of(self.name, self._target)

    # -- taking and leaving

    def hold(self, tell: Tell) -> None:
        """Take the board and connect its console; raises BoardBusyError, BoardError."""
        if self._held:
            return
        self._tell = tell
        self._target = self._source.take(tell)
        self._held = True
        try:
            self._connect()
        except BaseException:
            with contextlib.suppress(BoardError):
                self._let_go()
            raise

    def stay_on(self) -> None:
        """Leave it switched on when it is closed."""
        self._stay_on = True

    def close(self) -> None:
        """Leave it as it was found, switched off if it was off, and let others have it.

        Raises BoardError where that failed, unless something else has failed before: then that
        is told.
        """
        if not self._held:
            return
        failing = sys.exception() is not None
        problems: list[str] = []
        for step in (self._leave_commands, self._switch_back, self._let_go):
            try:
                step()
            except BoardError as error:
                problems.append(str(error))
        if problems and failing:
            for text in problems:
                self._tell(text)
        elif problems:
            raise BoardError("; ".join(problems))

    def _connect(self) -> None:
        """Find the drivers, and drain the console from now on."""
        target = self._target
        driver = driver_of(target, "PowerProtocol")
        if driver is not None:
            if named([driver], "QEMUDriver") is not None:
                raise BoardError(
                    f"{self.name} is a QEMUDriver of labgrid's, which loses boards that power "
                    "themselves off: use a virtual board of whylate's (whylate board list)"
                )
            bounded(f"{self.name}: connecting its supply", lambda: target.activate(driver))
            self._power = LabgridPower(
                self.name, driver, self._alive, self._before_off, self._options.sequencer
            )
        line = driver_of(target, "ConsoleProtocol")
        if line is not None:
            bounded(f"{self.name}: opening its console", lambda: target.activate(line))
            log = state_directory(self._source.state_name) / "console.log"
            log.unlink(missing_ok=True)
            self._line = line
            self._channel = DriverChannel(line)
            self._console = DrainedConsole(self._channel, log)
        found = ssh_board(target, self._options.ssh_options)
        if found is not None:
            self._ssh, self._address = found
        if self._ssh is None and self._console is None:
            raise BoardError(
                f"{self.name} takes no commands: its target needs a NetworkService, or a driver "
                "for its serial console"
            )

    def _leave_commands(self) -> None:
        """Remove the probe, and give the console its prompt back."""
        self._bury()
        self._speaker = None
        probe, self._probe = self._probe, None
        shell, self._shell = self._shell, None
        lost = self._source.trouble()
        try:
            if self._ssh is not None and lost is None:
                self._ssh.close()
            if probe is not None and lost is None:
                with contextlib.suppress(BoardError):
                    probe.remove()
        finally:
            if shell is not None:
                shell.close()

    def _before_off(self) -> None:
        speaker = self._speaker
        ours = speaker is None or speaker is threading.current_thread() or not speaker.is_alive()
        if not ours:
            self._cut_short()
        if self._found_on is None and self._power is not None:
            self._is_on(self._power)
        if ours:
            self._leave_commands()

    def _cut_short(self) -> None:
        """Hang up on another thread that speaks over the console.

        It sees the line end. Its shell is its own to close: two would take each other's answers.
        """
        self._cut = True
        if self._shell is not None:
            self._hung_up, self._shell = self._shell, None
        # A line that cannot be opened again must not keep the board from being switched off.
        with contextlib.suppress(OSError, ValueError):
            self._reconnect()

    def _bury(self) -> None:
        """Close the shell that another thread has hung up on."""
        self._cut = False
        shell, self._hung_up = self._hung_up, None
        if shell is not None:
            shell.close()

    def _switch_back(self) -> None:
        """Switch off what we switched on; a board that is not ours any more is left alone."""
        ours = self._switched_on and not self._found_on
        self._switched_on, self._found_on = False, None
        if not ours or self._stay_on or self._power is None:
            return
        lost = self._source.trouble()
        if lost is not None:
            raise BoardError(f"{self.name} was left switched on: {lost}")
        self._tell(f"switching {self.name} off")
        self._power.off()

    def _let_go(self) -> None:
        """Hang up on console and supply, and release the target."""
        self._held = False
        console, self._console = self._console, None
        self._power = self._ssh = self._channel = self._address = self._target = None
        try:
            if console is not None:
                console.close()
        finally:
            self._source.release()

    # -- booting

    def boot(self, tell: Tell) -> None:
        """Switch it on where it is off and we can, and wait until it takes commands.

        Raises BoardError with the console's last words where it does not come up in its time.
        """
        self._check_ours()
        self._forget_shell()
        # Listened to before it is switched on: a prompt that came before would not come again.
        shell = self._new_shell() if self._ssh is None else None
        try:
            fresh = self._switch_on(tell)
            deadline = time.monotonic() + self._options.boot_s
            tell(f"waiting for {self.name}")
            if self._ssh is not None:
                self._wait_for_ssh(self._ssh, deadline)
        except BaseException:
            if shell is not None:
                shell.close()
            raise
        if shell is not None:
            self._open(shell, deadline, booting=fresh)

    def _switch_on(self, tell: Tell) -> bool:
        """Switch it on unless it is on; whether it was off."""
        power = self._power
        if power is None or self._is_on(power):
            return False
        tell(f"switching {self.name} on")
        self._switched_on = True
        power.on()
        return True

    def _is_on(self, power: LabgridPower) -> bool:
        """Whether it is on, which is not known where it cannot be told: then it is switched on."""
        on = power.is_on() is True
        if self._found_on is None:
            self._found_on = on
        return on

    def _wait_for_ssh(self, ssh: SshBoard, deadline: float) -> None:
        while True:
            self._check_ours()
            why: BoardError | None = None
            if greets(self._address):
                try:
                    ssh.hold(tell_nobody)
                except BoardError as error:
                    # sshd is up before the board lets everybody in (pam_nologin).
                    why = error
                else:
                    return
            if time.monotonic() > deadline:
                log = self._console.log if self._console is not None else None
                seen = why or f"nothing answers at {ssh.name}"
                raise BoardError(self._not_up(f"{seen}{last_words(log)}"))
            time.sleep(_RETRY_S)

    def _new_shell(self) -> ConsoleShell:
        assert self._console is not None  # noqa: S101 - hold() wants one of the two
        self._speaker = threading.current_thread()
        return ConsoleShell(self._console.connect(), self._options.login)

    def _open(self, shell: ConsoleShell, deadline: float, *, booting: bool) -> ConsoleShell:
        try:
            shell.open(max(1.0, deadline - time.monotonic()), booting=booting)
        except BoardError as error:
            shell.close()
            self._check_ours()
            raise BoardError(self._not_up(str(error))) from None
        except BaseException:
            shell.close()
            raise
        self._shell = shell
        return shell

    def _not_up(self, why: str) -> str:
        on_before = self._power is not None and not self._switched_on
        hint = "; it was on before: switch it off and on again" if on_before else ""
        return f"{self.name} did not come up within {self._options.boot_s:g} s: {why}{hint}"

    def _alive(self) -> str | None:
        # Enter would be typed into our own commands.
        return alive(self._channel if self._shell is None else None, self._address)

    # -- commands

    def start_probe(self, tell: Tell) -> StartedProbe:
        """Bring the probe to the board and start it; raises BoardError.

        Its stream ends when the place is lost, or the board says nothing any more.
        """
        self._check_ours()
        if self._ssh is not None:
            started = self._ssh.start_probe(tell)
        else:
            if self._probe is None:
                self._probe = ConsoleProbe(self.name, self._commands())
            started = self._probe.start(tell)
        stream = WatchedStream(
            started.stream,
            self._source.trouble,
            self._options.silence_s,
            self._reconnect if self._ssh is None else None,
        )
        return StartedProbe(stream, started.binary, started.keepalive_s)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file on the board whole or not at all; raises BoardError."""
        self._check_ours()
        self._way().put(data, path, mode)

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end; raises BoardError."""
        self._check_ours()
        return self._way().run(argv, data=data, timeout_s=timeout_s)

    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command; over a console only a probe can be one. Raises BoardError."""
        self._check_ours()
        stream = self._way().stream(argv)
        return WatchedStream(stream, self._source.trouble)

    def _way(self) -> SshBoard | ConsoleShell:
        return self._ssh if self._ssh is not None else self._commands()

    def _commands(self) -> ConsoleShell:
        if self._cut:
            # Nobody would come to a prompt there: waiting for one would last as long as a boot.
            raise BoardError(f"{self.name} was switched off meanwhile")
        if self._shell is not None:
            self._speaker = threading.current_thread()
            return self._shell
        deadline = time.monotonic() + self._options.boot_s
        return self._open(self._new_shell(), deadline, booting=False)

    def _reconnect(self) -> None:
        """Hang up on whoever uses the console, and drain it on."""
        with self._attaching:
            if self._console is not None:
                # First of all, and also where the line cannot be opened again.
                self._console.detach()
                self._channel = DriverChannel(self._line)
                self._console.attach(self._channel)

    def _forget_shell(self) -> None:
        """Let go of a shell that a power cycle may have ended."""
        self._bury()
        shell, self._shell = self._shell, None
        self._probe = None
        if shell is not None:
            shell.close()

    def _check_ours(self) -> None:
        """Raise BoardError where the board is not held, or not any more."""
        if not self._held:
            raise BoardError(f"{self.name} is not held")
        lost = self._source.trouble()
        if lost is not None:
            raise BoardError(f"{self.name}: {lost}")
