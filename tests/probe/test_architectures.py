"""The probe on every architecture: native, and the cross builds under qemu-user."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import closing

import pytest

from whylate import __version__
from whylate.boards.streams.process import ProcessStream
from whylate.probe.binaries import ProbeBinary, probe_binary
from whylate.probe.client import Client
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    File,
    Frequency,
    LoadStart,
    LoadWork,
    Message,
    Read,
    Result,
    Samples,
    Wakeup,
)
from whylate.wire.samples import decode_samples

EMULATORS = {"x86_64": "qemu-x86_64-static", "aarch64": "qemu-aarch64-static",
             "armv7": "qemu-arm-static", "riscv64": "qemu-riscv64-static"}  # fmt: skip
MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64", "armv7": "armv7l", "riscv64": "riscv64"}


def command(arch: str) -> tuple[ProbeBinary, list[str]]:
    binary = probe_binary(MACHINES[arch])
    if platform.machine() == arch:
        return binary, [str(binary.path)]
    emulator = shutil.which(EMULATORS[arch])
    if emulator is None:
        pytest.skip(f"{EMULATORS[arch]} is not installed")
    return binary, [emulator, str(binary.path)]


@pytest.mark.parametrize("arch", list(MACHINES))
def test_the_probe_is_one_static_program_of_its_architecture(arch: str) -> None:
    binary, start = command(arch)
    described = subprocess.run(
        ["file", "-b", str(binary.path)] if shutil.which("file") else ["true"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert not described or "statically linked" in described
    # PT_INTERP would name a loader that a bare board does not have.
    assert b"/ld-linux" not in binary.path.read_bytes()[:4096]
    done = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"whylate-probe {__version__} protocol ")


@pytest.mark.parametrize("arch", list(MACHINES))
@pytest.mark.parametrize("spool", [0, 1])
def test_a_session_from_hello_to_the_result(arch: str, spool: int) -> None:
    _, start = command(arch)
    messages: list[Message] = []

    def keep(_frame: Frame, message: Message) -> None:
        messages.append(message)

    with closing(ProcessStream(start)) as stream:
        client = Client(stream, keep)
        welcome = client.hello()
        assert welcome.arch == arch
        assert welcome.clock_resolution_ns > 0
        read = client.call(Read(0, 4096, 0, "/proc/sys/kernel/ostype"))
        assert [m.data for m in read if isinstance(m, File)] == [b"Linux\n"]
        frequency = client.call(Frequency(welcome.cpus[:1]))
        assert frequency
        client.call(LoadStart(0, 1, "switch", ()))
        client.call(Wakeup(2_000_000, 1_500_000_000, 95, 1, spool, welcome.cpus))
        while not any(isinstance(m, Result) for m in messages):
            client.pump(0.2)
        client.finish()

    started = {m.cpu: m for m in messages if isinstance(m, CpuStarted)}
    results = [m for m in messages if isinstance(m, CpuResult)]
    assert [result.cpu for result in results] == list(welcome.cpus)
    for result in results:
        cpu_started = started[result.cpu]
        expected = -(-(result.end_ns - result.start_ns) // cpu_started.interval_ns)
        assert result.seen + result.overrun + result.dropped == expected
        assert result.dropped == 0
        blocks = [m for m in messages if isinstance(m, Samples) and m.cpu == result.cpu]
        rows = [decode_samples(block, cpu_started.interval_ns, expected) for block in blocks]
        assert sum(part.activation.size for part in rows) == expected
        assert sum(int(part.overrun.sum()) for part in rows) == result.overrun
    work = [m.work for m in messages if isinstance(m, LoadWork)]
    assert work[-1] > work[0] >= 0
