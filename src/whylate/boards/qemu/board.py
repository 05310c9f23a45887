"""A virtual board: QEMU provides its supply, its console and its lines."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whylate.boards.board import CameUp, Finished, ImageFile, Notify, StartedProbe, notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.qemu.arguments import Start, arguments, fixed_turns
from whylate.boards.qemu.machine import BootAgainError, BoundedLog, Machine
from whylate.boards.qemu.planned import PlannedStart, takes_handover, write_handover
from whylate.boards.qemu.port import SERIAL_KEEPALIVE_S, FileStream, SerialPortStream, SocketStream
from whylate.boards.state import BoardLock, state_directory
from whylate.boards.waiting import Waiting
from whylate.files import write_whole
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.image import ON_PORT, PLAN, PROBE, Image, build, is_fetched
from whylate.lab.initramfs import packed
from whylate.lab.network import NETWORK_SCRIPT, SERVICES
from whylate.lab.qemu import Qemu, find_qemu
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary
from whylate.probe.client import Stream
from whylate.text import clean

if TYPE_CHECKING:
    from whylate.boards.console.drain import DrainedConsole
    from whylate.boards.console.shell import ConsoleShell

READY = b"whylate: ready"
#: Far longer than the slowest board takes on a busy host.
BOOT_S = 180.0
#: How often it is booted if that fails through no fault of the board.
BOOTS = 3
#: A shell that has just booted answers within this, however busy the host is.
SHELL_S = 60.0
UNSTEADY = (
    "QEMU's main thread had no real-time priority, because this user may not set it: on a busy "
    "host this run may, rarely, differ from its repetition"
)
#: Prefix of directories for the output of a run in virtual time.
RUN = "run-"


@dataclass(frozen=True)
class VirtualOptions:
    """Options of a virtual board. cpus None: as in its description."""

    cpus: int | None = None
    kernel_args: tuple[str, ...] = ()
    ssh_port: int | None = None
    #: Files added to the image: path on the board, content, mode.
    files: tuple[ImageFile, ...] = ()
    #: A tarball that it boots instead of its own image.
    root: Path | None = None
    waiting: Waiting = field(default_factory=Waiting)


class QemuPower:
    """The supply of a virtual board."""

    def __init__(
        self, machine: Machine, start: Callable[[], None], forget: Callable[[], None]
    ) -> None:
        self._machine = machine
        self._start = start
        self._forget = forget

    def on(self) -> None:
        """Start QEMU; raises BoardError."""
        if not self.is_on():
            self._start()

    def off(self) -> None:
        """End QEMU, whatever the board does; raises BoardError. From any thread."""
        self._machine.stop()
        # Its shell ended with it. Not before: a board that hangs would block that.
        self._forget()

    def is_on(self) -> bool:
        """Return whether QEMU runs."""
        return self._machine.pid is not None


class QemuConsole:
    """The console of a virtual board: QEMU itself drains it into the log."""

    def __init__(self, machine: Machine, *, framed: bool) -> None:
        self._machine = machine
        #: Whether the probe's frames use it too, and are in its log.
        self.framed = framed

    @property
    def log(self) -> Path:
        """The file with what was printed since the board was switched on."""
        return self._machine.console_log

    def connect(self) -> Stream:
        """Return the line; raises BoardError."""
        if self._machine.pid is None:
            raise BoardError("the board is off: switch it on first (whylate board on)")
        return SocketStream(self._machine.console_socket)


class QemuBoard:
    """One of the virtual boards."""

    def __init__(self, board: VirtualBoard, options: VirtualOptions | None = None) -> None:
        self.virtual = board
        self.options = options or VirtualOptions()
        self.cpus = self.options.cpus or board.description.cpus
        directory = state_directory(board.name)
        self.machine = Machine(directory)
        self._directory = directory
        self._lock = BoardLock(directory, board.name)
        self._bounded = BoundedLog(self.machine.console_log)
        self.power = QemuPower(self.machine, self._switch_on, self._forget_boot)
        self.console = QemuConsole(self.machine, framed=not board.description.port)
        self._shell: ConsoleShell | None = None
        self._drain: DrainedConsole | None = None
        self._switched_on = False
        self._tell: Notify = notify_nobody
        self._outlive = False
        self._root, self._root_sha256 = self.options.root, ""
        self._network = False
        self._reboots = False
        #: Bytes of the console's log before a reboot that is expected; None: none is.
        self._rebooting_from: int | None = None

    @property
    def name(self) -> str:
        """The name by which the user calls it."""
        return self.virtual.name

    @property
    def owner(self) -> str | None:
        """Who holds it now."""
        return self._lock.owner()

    @property
    def release(self) -> str:
        """The release of its kernel; raises BoardError where there is no image."""
        return self._image().release

    def hold(self, notify: Notify) -> None:
        """Lock the board; raises BoardBusyError and BoardError."""
        self._tell = notify
        self.options.waiting.acquire(self.name, lambda _: self._lock.acquire(), notify)
        self._bounded.start()

    def use_root(self, root: Path, sha256: str) -> None:
        """Boot this tarball from the next boot on, if it still has that hash; "": any."""
        self._root, self._root_sha256 = root, sha256

    def use_network(self) -> None:
        """Have a network interface that reaches this machine, from the next boot on."""
        self._network = True

    def use_reboots(self) -> None:
        """Stay on when the board reboots, from the next time that it is switched on."""
        self._reboots = True

    def expect_reboot(self) -> None:
        """Have boot() wait for another boot than the one so far, without switching it on."""
        self._close_shell()
        with contextlib.suppress(OSError):
            self._rebooting_from = self.console.log.stat().st_size

    def boot(self, notify: Notify) -> None:
        """Switch it on where it is off, and wait for its shell; raises BoardError."""
        if self._rebooting_from is not None:
            self.machine.wait_for(READY, BOOT_S, self._rebooting_from)
            return
        if self._network and self.power.is_on() and not self._switched_on:
            raise BoardBusyError(
                f"{self.name} is on, perhaps without a network: switch it off first "
                f"(whylate board off {self.name})"
            )
        if self._root is not None and self.power.is_on() and not self._switched_on:
            raise BoardBusyError(
                f"{self.name} is on, perhaps with another root: switch it off first "
                f"(whylate board off {self.name})"
            )
        for tries_left in reversed(range(BOOTS)):
            if not self.power.is_on():
                notify(f"switching {self.name} on")
                self._switched_on = True
                self.power.on()
                notify(f"booting {self.name}")
            try:
                self.machine.wait_for(READY, BOOT_S)
                return
            except BootAgainError as error:
                # While a board probes its devices, QEMU was observed to fail an assertion
                # (iotlb_to_section, in its memory mapping), and a CPU to stall for minutes. The
                # next boot succeeded.
                if not tries_left:
                    raise
                notify(f"{error.reason} while {self.name} booted: trying again")
                if self._switched_on:
                    self.power.off()

    def stay_on(self) -> None:
        """Leave it switched on when it is closed, and when this process ends; before boot()."""
        self._outlive = True

    def close(self) -> None:
        """Switch it off if we switched it on, and release it."""
        if not self._lock.held:
            return
        self._close_shell()
        try:
            if self._switched_on and not self._outlive:
                self.machine.stop()
        finally:
            self._switched_on = False
            self._bounded.stop()
            self._lock.release()

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Start the probe of the image, on its own line; raises BoardError."""
        notify("starting the probe")
        if not self.virtual.description.port:
            framed = self._console_shell().stream([PROBE, "--serial"])
            return self._started(framed, SERIAL_KEEPALIVE_S)
        stream = self.stream([PROBE, "--serial"])
        if not isinstance(stream, SerialPortStream):
            return self._started(stream, 0.0)
        if self.virtual.description.nudged:
            stream.nudge()
        return self._started(stream, SERIAL_KEEPALIVE_S)

    def _started(self, stream: Stream, keepalive_s: float) -> StartedProbe:
        here = len(os.sched_getaffinity(0))
        return StartedProbe(stream, self._probe(), keepalive_s, host_cpus=here)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file over the console; raises BoardError."""
        self._console_shell().put(data, path, mode)

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command over the console; raises BoardError."""
        return self._console_shell().run(argv, data=data, timeout_s=timeout_s)

    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command on the port; raises BoardError."""
        if not self.virtual.description.port:
            return self._console_shell().stream(argv)
        port = f"/dev/{self.virtual.description.port}"
        serial = SerialPortStream if port.startswith("/dev/tty") else SocketStream
        if serial is SocketStream:
            # A busy board may not have seen yet that whoever had the port before has hung up. Once
            # we are on the line, it would take us for that one.
            waited = self.run([ON_PORT, "-w", port])
            if waited.status:
                raise BoardError(f"{argv[0]} cannot be started on {self.name}: {_words(waited)}")
        stream = serial(self.machine.port_socket)
        try:
            started = self.run([ON_PORT, "-b", port, *argv])
        except BoardError:
            stream.close()
            raise
        if started.status:
            stream.close()
            raise BoardError(f"{argv[0]} cannot be started on {self.name}: {_words(started)}")
        process = started.output.strip().decode(errors="replace")
        if isinstance(stream, SerialPortStream) and process.isdecimal():
            stream.has_ended = lambda: self.run(["test", "-d", f"/proc/{process}"]).status != 0
        return stream

    # -- in virtual time

    def need_cpus(self, count: int) -> None:
        """Have so many CPUs at the next boot, unless a number was asked for."""
        self.cpus = self.options.cpus or min(count, self.virtual.description.max_cpus)

    def carry_out(
        self, plan: bytes, seed: int, notify: Notify, files: Sequence[ImageFile] = ()
    ) -> StartedProbe:
        """Boot in virtual time with a plan for the probe; the stream is its output.

        The board must be held and off; it is off again when the stream is closed. Raises
        BoardError.
        """
        if not self.virtual.description.port:
            raise BoardError(
                f"{self.name} has no virtual time: it has only its console, where the kernel's "
                "messages would mix with the measurements"
            )
        if self.power.is_on():
            raise BoardBusyError(
                f"{self.name} is on, in real time: switch it off first "
                f"(whylate board off {self.name})"
            )
        probe = self._probe()
        output = self._output()
        turns = fixed_turns()
        try:
            notify(f"booting {self.name} in virtual time")
            planned = ((PLAN, plan, 0o644), *files)
            came_up = self._start_planned(turns, seed, output, planned, notify)
        except BaseException:
            shutil.rmtree(output.parent, ignore_errors=True)
            raise

        def end() -> None:
            try:
                self.machine.stop()
            finally:
                shutil.rmtree(output.parent, ignore_errors=True)

        stream = FileStream(
            output, lambda: self.machine.pid is not None, end, self.machine.last_words
        )
        return StartedProbe(
            stream,
            probe,
            warning="" if turns else UNSTEADY,
            came_up=came_up,
        )

    # -- inside

    def _start_planned(
        self,
        turns: Sequence[str],
        seed: int,
        output: Path,
        files: Sequence[ImageFile],
        notify: Notify,
    ) -> CameUp:
        """Start QEMU in virtual time; return how the board came up. Raises BoardError."""
        image = self._image()
        if not takes_handover(self.virtual, image, self.options.kernel_args):
            self._start(turns, seed=seed, output=output, files=files)
            return "booted"
        handover = output.with_name("handover")
        try:
            write_handover(handover, [*self.options.files, *files])
        except OSError as error:
            raise self._unwritable(error) from None
        planned = PlannedStart(
            self.virtual,
            self._qemu(),
            image,
            self.machine,
            turns,
            BOOT_S,
        )
        return planned.start(self._how(seed, output), handover, notify)

    def _output(self) -> Path:
        """Return a new file for the output of a run in virtual time; raises BoardError."""
        # The board is held and off: what exists was left by a whylate that was killed.
        if self._lock.held:
            for left in self._directory.glob(f"{RUN}*"):
                shutil.rmtree(left, ignore_errors=True)
        try:
            output = Path(tempfile.mkdtemp(prefix=RUN, dir=self._directory)) / "port"
            output.touch()
        except OSError as error:
            raise self._unwritable(error) from None
        return output

    def _unwritable(self, error: OSError) -> BoardError:
        return BoardError(f"{self._directory} cannot be written: {error.strerror}")

    def _switch_on(self) -> None:
        alone = self._network and self.options.ssh_port is None
        self._start((), files=((SERVICES, NETWORK_SCRIPT, 0o644),) if alone else ())

    def _start(
        self,
        wrapper: Sequence[str],
        *,
        seed: int = 0,
        output: Path | None = None,
        files: Sequence[ImageFile] = (),
    ) -> None:
        """Start QEMU; wrapper: words before its command."""
        qemu = self._qemu()
        image = self._image()
        initrd = self._with_files(image, files)
        command = arguments(self.virtual, qemu, image, initrd, self._how(seed, output))
        self.machine.start([*wrapper, *command], outlive=self._outlive)

    def _qemu(self) -> Qemu:
        qemu = find_qemu(self.virtual)
        if qemu is None:
            description = self.virtual.description
            raise BoardError(
                f"{description.qemu} is not here: install it (Debian: apt-get install "
                f"{description.qemu_package})"
            )
        return qemu

    def _how(self, seed: int, output: Path | None) -> Start:
        return Start(
            cpus=self.cpus,
            directory=self._directory,
            output=output,
            seed=seed,
            kernel_args=self.options.kernel_args,
            ssh_port=self.options.ssh_port if output is None else None,
            network=self._network and output is None,
            reboots=self._reboots and output is None,
        )

    def _forget_boot(self) -> None:
        self._rebooting_from = None
        self._close_shell()

    def _image(self) -> Image:
        cache = cache_directory()
        try:
            if not is_fetched(self.virtual):
                raise BoardError(
                    f"there is no image of {self.name} yet: run `whylate lab build {self.name}`, "
                    "or `make lab` in a checkout for all virtual boards"
                )
            if self._root is not None:
                # Imported only here: few boards boot another root.
                from whylate.lab.roots.prepare import prepare_root

                return prepare_root(self.virtual, self._root, self._root_sha256, self._tell)
            with building(cache, self._tell):
                return build(self.virtual, self._tell)
        except LabError as error:
            raise BoardError(str(error)) from None
        except OSError as error:
            raise BoardError(f"{cache} cannot be read: {error.strerror}") from None

    def _with_files(self, image: Image, files: Sequence[ImageFile]) -> Path:
        """Return the image with these and the user's files appended."""
        files = [*self.options.files, *files]
        if not files:
            return image.initrd
        initrd = self._directory / "initrd"
        try:
            write_whole(initrd, image.initrd.read_bytes() + packed(files))
        except OSError as error:
            raise self._unwritable(error) from None
        return initrd

    def _probe(self) -> ProbeBinary:
        try:
            return probe_binary(self.virtual.description.arch)
        except NoProbeError as error:
            raise BoardError(str(error)) from None

    def _console_shell(self) -> ConsoleShell:
        if self._shell is None:
            from whylate.boards.console.channel import DescriptorChannel
            from whylate.boards.console.drain import DrainedConsole
            from whylate.boards.console.shell import ConsoleShell

            channel = DescriptorChannel(self.console.connect())
            # QEMU writes the console's log; this one is of the shell's session, for its errors.
            drain = DrainedConsole(channel, self._directory / "shell.log")
            # A half-open shell would refuse every later command.
            with contextlib.ExitStack() as undo:
                undo.callback(drain.close)
                shell = ConsoleShell(drain.connect())
                undo.callback(shell.close)
                shell.open(SHELL_S)
                undo.pop_all()
            self._drain, self._shell = drain, shell
        return self._shell

    def _close_shell(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.close()
        drain, self._drain = self._drain, None
        if drain is not None:
            drain.close()


def _words(ended: Finished) -> str:
    """Return what a command said of its failure, safe to print."""
    return clean(ended.error.decode(errors="replace"), 200)
