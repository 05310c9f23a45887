"""QEMU's command line for a virtual board, and how its threads are scheduled."""

from __future__ import annotations

import os
import random
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.lab.description import VirtualBoard
from whylate.lab.image import Image
from whylate.lab.qemu import Qemu

#: Guest time is then counted in instructions and repeats to the nanosecond, independent of the
#: host (shift=1: an instruction takes 2 ns; sleep=off: idle time is skipped).
VIRTUAL_TIME = ("-icount", "shift=1,sleep=off", "-rtc", "base=2024-01-01,clock=vm")
REPEATABLE_KERNEL = ("nokaslr", "norandmaps", "quiet")
#: The memory that the host shares with a board in virtual time: more than a run has files.
HANDOVER_BYTES = 64 << 20
#: The kernel resets the board when it panics, and QEMU (-no-reboot) ends then. It does not test its
#: ciphers, which took a fourth of a boot.
KERNEL = ("panic=-1", "cryptomgr.notests")


@dataclass(frozen=True)
class Start:
    """How to start a virtual board."""

    cpus: int
    #: The directory of its sockets and its console's log.
    directory: Path
    #: The file for the port's output, in virtual time; None: a socket, in real time.
    output: Path | None = None
    seed: int = 0
    kernel_args: tuple[str, ...] = ()
    #: The port of this machine that is forwarded to the board's SSH server; None: no network.
    ssh_port: int | None = None
    #: Whether it reboots where it would otherwise end.
    reboots: bool = False
    #: Whether it has a network on which it reaches this machine, for loads.
    network: bool = False
    #: In virtual time, the memory with the files of the run, which the board reads when it has
    #: booted; None: they are in its image.
    handover: Path | None = None
    #: The file of its memory, from which it is resumed, or that it leaves when it stops just before
    #: it reads the files of the run; None: it boots, and nothing is left.
    memory: Path | None = None
    stops: bool = False
    #: The socket for QEMU's monitor.
    control: Path | None = None


def arguments(
    board: VirtualBoard, qemu: Qemu, image: Image, initrd: Path, start: Start
) -> list[str]:
    """Return the command; raises BoardError for what the machine does not support."""
    machine = board.description
    if not 1 <= start.cpus <= machine.max_cpus:
        raise BoardError(f"{board.name} can have 1 to {machine.max_cpus} CPUs, not {start.cpus}")
    virtual = start.output is not None
    if virtual and start.cpus > 1 and not qemu.fair:
        raise BoardError(
            f"QEMU {qemu.version[0]}.{qemu.version[1]} lets only one CPU at a time run in virtual "
            f"time: `whylate lab build {board.name}` fetches a newer one, --smp 1 works with it"
        )
    # The kernel heeds the last of several: an image cannot take ours away.
    kernel = [*image.words, f"console={machine.console}", *machine.kernel_args, *KERNEL]
    if virtual:
        kernel += REPEATABLE_KERNEL
    if image.init:
        kernel.append(f"rdinit={image.init}")
    command = [
        *qemu.command,
        *machine.machine,
        *("-smp", str(start.cpus), "-m", machine.memory),
        *("-kernel", str(_kernel(image)), "-initrd", str(initrd)),
        *(("-dtb", str(image.dtb)) if image.dtb else ()),
        *("-append", " ".join([*kernel, *start.kernel_args])),
        *("-nodefaults", "-no-user-config", "-display", "none"),
        *(() if start.reboots else ("-no-reboot",)),
        *_network(board, start),
    ]
    if virtual:
        command += [*VIRTUAL_TIME, "-seed", str(start.seed)]
    command += ["-chardev", _console(start, virtual)]
    if machine.port:
        command += ["-chardev", _port(start)]
    for line in machine.serials:
        command += ["-serial", f"chardev:{line}"]
    # Behind the port, which is the first of its kind.
    return command + machine.port_args + _handover(machine.memory, start)


def _kernel(image: Image) -> Path:
    # An emulated CPU takes two seconds to unpack it. A kernel that does not unpack itself has no
    # KASLR on x86; on virt-arm64 it has.
    return image.plain_kernel or image.kernel


def _handover(memory: str, start: Start) -> list[str]:
    if start.handover is None:
        return []
    # A file that is not shared is mapped privately: it stays as it is. QEMU leaves shared files out
    # of a snapshot, and reads nothing of them.
    share = f"share={'on' if start.stops else 'off'}"
    path = f"mem-path={_escaped(start.handover)}"
    words = ["-object", f"memory-backend-file,id=handover,size={HANDOVER_BYTES},{path},{share}"]
    words += ["-device", "ivshmem-plain,memdev=handover,master=on", "-device", "pvpanic-pci"]
    words += ["-action", f"panic={'pause' if start.stops else 'none'}"]
    if start.memory is not None:
        path = f"mem-path={_escaped(start.memory)}"
        words += ["-object", f"memory-backend-file,id=memory,size={memory},{path},{share}"]
        words += ["-machine", "memory-backend=memory"]
        words += ["-qmp", f"unix:{_escaped(start.control or Path())},server=on,wait=off"]
        words += [] if start.stops else ["-incoming", "defer"]
    return words


def _console(start: Start, virtual: bool) -> str:
    log = _escaped(start.directory / "console.log")
    if virtual:
        # A board that is resumed goes on behind what it printed when it booted.
        return f"file,id=console,path={log},append=on"
    # Without a reader QEMU drops output on the socket; the log has it all.
    socket = _escaped(start.directory / "console")
    return f"socket,id=console,path={socket},server=on,wait=off,logfile={log},logappend=off"


def _port(start: Start) -> str:
    if start.output is not None:
        return f"file,id=port,path={_escaped(start.output)}"
    return f"socket,id=port,path={_escaped(start.directory / 'port')},server=on,wait=off"


def _network(board: VirtualBoard, start: Start) -> list[str]:
    if start.ssh_port is None and not start.network:
        return ["-nic", "none"]
    if not board.description.network_args:
        raise BoardError(f"{board.name} has no network")
    # Without a load, the board reaches nothing.
    words = ["user", "id=net", f"restrict={'off' if start.network else 'on'}"]
    if start.ssh_port is not None:
        words.append(f"hostfwd=tcp:127.0.0.1:{start.ssh_port}-:22")
    return ["-netdev", ",".join(words), *board.description.network_args]


def _escaped(path: Path) -> str:
    """Return a path escaped for QEMU's option parser."""
    return str(path).replace(",", ",,")


def fixed_turns() -> list[str]:
    """Return the words before QEMU's command that schedule it so; none without the right."""
    chrt, taskset = shutil.which("chrt"), shutil.which("taskset")
    if chrt is None or taskset is None or not _may_be_real_time():
        return []
    # Several boards share the host's CPUs; the result does not depend on which they get.
    cpu = random.choice(sorted(os.sched_getaffinity(0)))  # noqa: S311
    # Its new threads are SCHED_OTHER.
    return [chrt, "--reset-on-fork", "--fifo", "1", taskset, "--cpu-list", str(cpu)]


def _may_be_real_time() -> bool:
    """Try it in a thread: it depends on rights, limits and a container's rules."""
    allowed = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            return
        allowed.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(allowed)
