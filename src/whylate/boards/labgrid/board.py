"""A board on a labgrid bench."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from whylate.boards.board import Finished, Notify, StartedProbe, notify_nobody
from whylate.boards.console.drain import ConsoleStream, DrainedConsole
from whylate.boards.console.shell import ConsoleShell, Login
from whylate.boards.errors import BoardError
from whylate.boards.labgrid.calls import bounded
from whylate.boards.labgrid.console_probe import ConsoleProbe
from whylate.boards.labgrid.drivers import LabgridCard, card_of, driver_of, named, ssh_board
from whylate.boards.labgrid.line import DriverChannel
from whylate.boards.labgrid.supply import LabgridPower, find_life, last_words
from whylate.boards.labgrid.watched import WatchedStream
from whylate.boards.notes import note_power
from whylate.boards.power import SEQUENCER, PowerSequencer
from whylate.boards.ssh import SshBoard
from whylate.boards.state import state_directory
from whylate.boards.waiting import Waiting
from whylate.probe.client import Stream

#: Far longer than any board takes to boot.
BOOT_S = 180.0
#: A board that was on already has booted, or was switched on just now: it has this long.
ON_S = 60.0
#: A board that is silent for this long is considered dead.
SILENCE_S = 30.0
_RETRY_S = 1.0
#: Boards on a bench are flashed often and have another host key afterwards: labgrid's own SSHDriver
#: does the same.
SSH_OPTIONS = ("-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oLogLevel=ERROR")

#: Types to a boot loader over the console of a board that was just switched on.
Loader = Callable[[ConsoleStream], None]


class Source(Protocol):
    """Where a labgrid target comes from: an environment file, or a place."""

    @property
    def state_name(self) -> str:
        """The name of its directory of state, which has the console's log."""

    def acquire(self, notify: Notify) -> Any:
        """Acquire it and return labgrid's target; raises BoardBusyError, BoardError."""

    def release(self) -> None:
        """Release it; raises BoardError."""

    def loss(self) -> str | None:
        """Return why it is no longer ours, or None."""

    @property
    def declared(self) -> Mapping[str, object]:
        """What its environment file has for whylate; once it is acquired."""


@dataclass(frozen=True)
class BenchOptions:
    """Options that differ from board to board; times in seconds."""

    boot_s: float = BOOT_S
    silence_s: float = SILENCE_S
    #: The user to log in as on the console.
    login: Login = field(default_factory=Login)
    ssh_options: tuple[str, ...] = SSH_OPTIONS
    sequencer: PowerSequencer = SEQUENCER
    waiting: Waiting = field(default_factory=Waiting)


class LabgridBoard:
    """A target of an environment file, or a place of a coordinator. Implements Board.

    Over SSH where the target has a NetworkService, else over its console. Its parts are known once
    it is held: power and console are None before.
    """

    def __init__(self, name: str, source: Source, options: BenchOptions | None = None) -> None:
        self.name = name
        self._source = source
        self._options = options or BenchOptions()
        self._tell: Notify = notify_nobody
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
        #: The thread that uses the console; no other thread may.
        self._console_user: threading.Thread | None = None
        #: That thread's shell, once another thread has disconnected it; that thread closes it.
        self._stale_shell: ConsoleShell | None = None
        self._cut = False
        self._attaching = threading.Lock()
        #: Whether it was on before we switched anything; None: nothing was switched yet.
        self._was_on: bool | None = None
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

    @property
    def declared(self) -> Mapping[str, object]:
        """What the environment file declares under the target's `options: whylate:`."""
        return self._source.declared

    @property
    def state_name(self) -> str:
        """The name of its directory of state."""
        return self._source.state_name

    @property
    def ssh_address(self) -> tuple[str, int] | None:
        """The host and the port of its SSH server, where its target has a NetworkService.

        It is known while the board is held.
        """
        return self._address

    @property
    def over_console(self) -> bool:
        """Whether commands and files go over its serial console, which is slow."""
        return self._ssh is None

    # -- holding and releasing

    def hold(self, notify: Notify) -> None:
        """Acquire the board and connect its console; raises BoardBusyError, BoardError."""
        if self._held:
            return
        self._tell = notify
        waiting = self._options.waiting
        self._target = waiting.acquire(self.name, self._source.acquire, notify)
        self._held = True
        try:
            self._connect()
        except BaseException:
            with contextlib.suppress(BoardError):
                self._disconnect()
            raise

    def stay_on(self) -> None:
        """Leave it switched on when it is closed."""
        self._stay_on = True

    def close(self) -> None:
        """Restore its state, switched off if it was off, and release it.

        Raises BoardError where that failed. During another exception it shows the problems
        instead.
        """
        if not self._held:
            return
        failing = sys.exception() is not None
        problems: list[str] = []
        for step in (self._close_commands, self._switch_back, self._disconnect):
            try:
                step()
            except BoardError as error:
                problems.append(str(error))
        if problems and failing:
            for problem in problems:
                self._tell(problem)
        elif problems:
            raise BoardError("; ".join(problems))

    def _connect(self) -> None:
        """Find the drivers, and drain the console from now on."""
        target = self._target
        driver = driver_of(target, "PowerProtocol")
        if driver is not None:
            if named([driver], "QEMUDriver") is not None:
                raise BoardError(
                    f"{self.name} is labgrid's QEMUDriver, which does not notice boards that power "
                    "themselves off: use a virtual board of whylate (whylate board list)"
                )
            bounded(f"{self.name}: connecting its supply", lambda: target.activate(driver))
            self._power = LabgridPower(
                self.name,
                driver,
                self._find_life,
                self._before_off,
                self._options.sequencer,
                lambda on: note_power(self.state_name, on=on),
                self._options.waiting.notify or self._tell,
            )
        line = driver_of(target, "ConsoleProtocol")
        if line is not None:
            bounded(f"{self.name}: opening its console", lambda: target.activate(line))
            log = state_directory(self.state_name) / "console.log"
            log.unlink(missing_ok=True)
            self._line = line
            self._channel = DriverChannel(line)
            self._console = DrainedConsole(self._channel, log)
        if (ssh := ssh_board(target, self._options.ssh_options)) is not None:
            self._ssh, self._address = ssh
        if self._ssh is None and self._console is None:
            raise BoardError(
                f"{self.name} takes no commands: its target needs a NetworkService, or a driver "
                "for its serial console"
            )

    def _close_commands(self) -> None:
        """Remove the probe, and restore the console's prompt."""
        self._close_stale_shell()
        self._console_user = None
        probe, self._probe = self._probe, None
        shell, self._shell = self._shell, None
        lost = self._source.loss()
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
        user = self._console_user
        ours = user is None or user is threading.current_thread() or not user.is_alive()
        if not ours:
            self._cut_short()
        if self._was_on is None and self._power is not None:
            self._is_on(self._power)
        if ours:
            self._close_commands()

    def _cut_short(self) -> None:
        """Disconnect another thread from the console.

        It sees the line end, and closes its shell itself: two threads would read each other's
        answers.
        """
        self._cut = True
        if self._shell is not None:
            self._stale_shell, self._shell = self._shell, None
        # The board must be switched off even if the line cannot be opened again.
        with contextlib.suppress(OSError, ValueError):
            self._reconnect()

    def _close_stale_shell(self) -> None:
        """Close the shell that another thread has disconnected."""
        self._cut = False
        shell, self._stale_shell = self._stale_shell, None
        if shell is not None:
            shell.close()

    def _switch_back(self) -> None:
        """Switch off what we switched on, unless the board is no longer ours."""
        ours = self._switched_on and not self._was_on
        self._switched_on, self._was_on = False, None
        if not ours or self._stay_on or self._power is None:
            return
        lost = self._source.loss()
        if lost is not None:
            raise BoardError(f"{self.name} was left switched on: {lost}")
        self._tell(f"switching {self.name} off")
        self._power.off()

    def _disconnect(self) -> None:
        """Disconnect console and supply, and release the target."""
        self._held = False
        console, self._console = self._console, None
        self._power = self._ssh = self._channel = self._address = self._target = None
        try:
            if console is not None:
                console.close()
        finally:
            self._source.release()

    # -- booting

    def boot(self, notify: Notify) -> None:
        """Switch it on where it is off and has a supply, and wait until it takes commands.

        Raises BoardError with the console's last words after boot_s, or ON_S where it was on.
        """
        self._boot(notify, None)

    def boot_through(self, loader: Loader, notify: Notify) -> None:
        """Switch it off and on, and let `loader` type to its boot loader; raises BoardError."""
        self._check_ours()
        if self._power is None or self._console is None:
            raise BoardError(f"{self.name} has no supply, or no console, for its boot loader")
        notify(f"switching {self.name} off")
        self._power.off()
        self._boot(notify, loader)

    def _boot(self, notify: Notify, loader: Loader | None) -> None:
        self._check_ours()
        self._drop_shell()
        # Connected before it is switched on: an earlier prompt would not come again.
        stream = self._connect_console() if self._ssh is None or loader is not None else None
        try:
            fresh = self._switch_on(notify)
            if loader is not None and stream is not None:
                notify(f"typing to the boot loader of {self.name}")
                loader(stream)
            patience_s = self._patience_s(fresh=fresh)
            notify(f"waiting for {self.name}")
            if self._ssh is not None:
                if stream is not None:
                    stream.close()
                self._wait_for_ssh(self._ssh, patience_s)
        except BaseException:
            if stream is not None:
                stream.close()
            raise
        if self._ssh is None and stream is not None:
            shell = ConsoleShell(stream, self._options.login)
            self._open(shell, patience_s, booting=fresh)

    def _patience_s(self, *, fresh: bool) -> float:
        """Return how long it may take until it takes commands."""
        return self._options.boot_s if fresh else min(self._options.boot_s, ON_S)

    def _switch_on(self, notify: Notify) -> bool:
        """Switch it on unless it is on; return whether it was off."""
        power = self._power
        if power is None or self._is_on(power):
            return False
        notify(f"switching {self.name} on")
        self._switched_on = True
        power.on()
        return True

    def _is_on(self, power: LabgridPower) -> bool:
        """Return whether it is known to be on."""
        on = power.is_on() is True
        if self._was_on is None:
            self._was_on = on
        return on

    def _wait_for_ssh(self, ssh: SshBoard, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while True:
            self._check_ours()
            refusal: BoardError | None = None
            silent = ssh.why_silent()
            if silent is None:
                try:
                    ssh.hold(notify_nobody)
                except BoardError as error:
                    # sshd starts before the board allows logins (pam_nologin).
                    refusal = error
                else:
                    return
            if time.monotonic() > deadline:
                log = self._console.log if self._console is not None else None
                seen = refusal or f"nothing answers at {ssh.name} ({silent})"
                raise BoardError(self._not_up(f"{seen}{last_words(log)}", patience_s))
            time.sleep(_RETRY_S)

    def _new_shell(self) -> ConsoleShell:
        return ConsoleShell(self._connect_console(), self._options.login)

    def _connect_console(self) -> ConsoleStream:
        assert self._console is not None  # noqa: S101 - hold() requires it, or SSH
        self._console_user = threading.current_thread()
        return self._console.connect()

    def _open(self, shell: ConsoleShell, patience_s: float, *, booting: bool) -> ConsoleShell:
        try:
            shell.open(max(1.0, patience_s), booting=booting)
        except BoardError as error:
            shell.close()
            self._check_ours()
            raise BoardError(self._not_up(str(error), patience_s)) from None
        except BaseException:
            shell.close()
            raise
        self._shell = shell
        return shell

    def _not_up(self, reason: str, patience_s: float) -> str:
        on_before = self._power is not None and not self._switched_on
        hint = "; it was on before: switch it off and on again" if on_before else ""
        return f"{self.name} did not come up within {patience_s:g} s: {reason}{hint}"

    def _find_life(self) -> str | None:
        # With a shell open, Enter would be typed into our own commands.
        return find_life(self._channel if self._shell is None else None, self._ssh)

    # -- commands

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Upload the probe to the board and start it; raises BoardError.

        Its stream ends when the place is lost, or the board is silent.
        """
        self._check_ours()
        if self._ssh is not None:
            started = self._ssh.start_probe(notify)
        else:
            if self._probe is None:
                self._probe = ConsoleProbe(self.name, self._commands())
            started = self._probe.start(notify)
        stream = WatchedStream(
            started.stream,
            self._loss,
            self._options.silence_s,
            self._reconnect if self._ssh is None else None,
        )
        return StartedProbe(stream, started.binary, started.keepalive_s)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file on the board whole or not at all; raises BoardError."""
        self._check_ours()
        self._connection().put(data, path, mode)

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end; raises BoardError."""
        self._check_ours()
        return self._connection().run(argv, data=data, timeout_s=timeout_s)

    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command; over a console only a probe. Raises BoardError."""
        self._check_ours()
        stream = self._connection().stream(argv)
        return WatchedStream(stream, self._source.loss)

    def _connection(self) -> SshBoard | ConsoleShell:
        return self._ssh if self._ssh is not None else self._commands()

    def _commands(self) -> ConsoleShell:
        if self._cut:
            # There will be no prompt: waiting for it would take as long as a boot.
            raise BoardError(f"{self.name} was switched off meanwhile")
        if self._shell is not None:
            self._console_user = threading.current_thread()
            return self._shell
        return self._open(self._new_shell(), self._patience_s(fresh=False), booting=False)

    def _reconnect(self) -> None:
        """Disconnect the console's user, and drain the console again."""
        with self._attaching:
            if self._console is not None:
                # First, so that it happens even if the line cannot be opened again.
                self._console.detach()
                self._channel = DriverChannel(self._line)
                self._console.attach(self._channel)

    def _drop_shell(self) -> None:
        """Close a shell that a power cycle may have ended."""
        self._close_stale_shell()
        shell, self._shell = self._shell, None
        self._probe = None
        if shell is not None:
            shell.close()

    def _loss(self) -> str | None:
        """Return why a run on it ends, or None."""
        gone = self._ssh is None and self._console is not None and not self._console.attached
        # One that we cut ourselves is no loss.
        if gone and not self._cut:
            return (
                f"the line to the console of {self.name} is gone: ser2net or its host ended, or "
                "the adapter was unplugged"
            )
        return self._source.loss()

    def _check_ours(self) -> None:
        """Raise BoardError where the board is not held, or no longer."""
        if not self._held:
            raise BoardError(f"{self.name} is not held")
        lost = self._source.loss()
        if lost is not None:
            raise BoardError(f"{self.name}: {lost}")
