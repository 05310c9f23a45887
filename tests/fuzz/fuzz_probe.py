"""The probe's end, compiled with the address and undefined-behaviour sanitizers.

wire: frames and unpackers, by probe/tests/fuzz_wire.c, which libFuzzer can drive too. sessions: the
whole program, with commands whose values are at the bounds, or beyond them, and a host that leaves.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fuzz_case
from fuzz_frames import GOLDEN, made
from msgspec.structs import replace as changed

from c_programs import FLAGS, PROBE, WIRE, compile_c
from whylate import __version__
from whylate.probe.link import Link
from whylate.wire.codec import Message, WireError
from whylate.wire.messages import (
    MESSAGES,
    App,
    BenchCommand,
    BenchMemory,
    BenchSwitch,
    Hello,
    LoadStart,
    Pause,
    Put,
    Read,
    Recorder,
    Run,
    Setting,
    Stop,
    Wakeup,
    Welcome,
)

SANITIZERS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
#: A probe whose host is gone ends within this, on a busy machine and with sanitizers.
ENDS_S = 15.0
COMMANDS = [kind for kind in MESSAGES.values() if kind.KIND < Welcome.KIND]
#: What a session may run, read and load.
ARGV: list[tuple[str, ...]] = [("true",), ("sleep", "0.1"), ("sh", "-c", "echo x; exit 3"),
                               ("/nonexistent",), (), ("",)]  # fmt: skip
PATTERNS = ["/proc/version", "/proc/self/*", "/nonexistent", "/sys/devices/system/cpu/cpu*/online",
            "relative", "", "/dev/zero", "/proc/[", "/*/*"]  # fmt: skip
LOADS = ["cmd", "timer", "fork", "mmap", "switch", "nonsense", ""]


def can_build(folder: Path) -> bool:
    """Whether there is a C compiler with its sanitizers."""
    empty = folder / "empty.c"
    empty.write_text("int main(void)\n{\n\treturn 0;\n}\n")
    with contextlib.suppress(OSError):
        command = ["cc", *SANITIZERS, str(empty), "-o", str(folder / "empty")]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def build_wire(folder: Path) -> Path:
    """Compile the driver of frames and unpackers."""
    return compile_c("cc", "fuzz_wire", [f"wire/{name}.c" for name in WIRE], folder, SANITIZERS)


def build_probe(folder: Path) -> Path:
    """Compile the whole probe."""
    text = (PROBE / "meson.build").read_text()
    sources = dict.fromkeys(re.findall(r"'(src/[^']+\.c)'", text))
    built = folder / "whylate-probe"
    command = ["cc", *FLAGS, *SANITIZERS, f'-DWHYLATE_VERSION="{__version__}"', "-pthread",
               f"-I{PROBE / 'src'}", f"-I{PROBE.parent / 'remedies'}",
               *(str(PROBE / source) for source in sources), "-lm",
               "-o", str(built)]  # fmt: skip
    subprocess.run(command, check=True)
    return built


def run_wire(seed: int, seconds: float) -> fuzz_case.Result:
    """Fuzz frames and unpackers for some seconds."""
    result = fuzz_case.Result("wire")
    with tempfile.TemporaryDirectory() as folder:
        driver, corpus = build_wire(Path(folder)), Path(folder) / "corpus"
        frames = [bytes.fromhex(vector["frame"]) for vector in json.loads(GOLDEN.read_text())]
        corpus.write_bytes(b"".join(frames))
        began = time.monotonic()
        command = [str(driver), str(corpus), str(max(1, round(seconds))), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        result.seconds = time.monotonic() - began
    if done.returncode == 0:
        result.cases, result.units = map(int, done.stdout.split())
    else:
        add_find(result, "wire", f"seed {seed}", done.stderr)
    return result


def add_find(result: fuzz_case.Result, name: str, text: str, error: str) -> None:
    """Keep what the sanitizers, or a check, said."""
    place = next((line for line in error.splitlines() if "ERROR" in line or "error:" in line), text)
    place = re.sub(r"0x[0-9a-f]+|\d{3,}|==\d+==", "…", place)[:120]
    if place not in result.finds:
        fuzz_case.KEPT.mkdir(parents=True, exist_ok=True)
        kept = fuzz_case.KEPT / f"{name}-{len(result.finds)}-{os.getpid()}.txt"
        kept.write_text(f"{text}\n{error}")
        result.finds[place] = fuzz_case.Find(error, kept)


# ---------------------------------------------------------------- whole sessions


def harmless(chance: random.Random, message: Message, folder: Path) -> Message:
    """Return a command that touches nothing but the folder, and takes no more than it must."""
    safe: dict[type[Message], Callable[[], dict[str, Any]]] = {
        Setting: lambda: {"path": chance.choice(["/proc/sys/none", "/sys/none", "/etc/x", ""])},
        Put: lambda: {"path": chance.choice([f"{folder}/a", f"{folder}/b/c", "relative", ""])},
        Read: lambda: {"pattern": chance.choice(PATTERNS)},
        Run: lambda: {"argv": chance.choice(ARGV)},
        BenchCommand: lambda: {"argv": chance.choice(ARGV)},
        App: lambda: {"argv": chance.choice(ARGV), "pid": chance.choice([0, 0x7FFFFFFF])},
        LoadStart: lambda: {"argv": chance.choice(ARGV), "kind": chance.choice(LOADS),
                            "count": chance.choice([0, 1, 2, 257])},
        BenchMemory: lambda: {"size": chance.choice([0, 4095, 4096, 65536, 1 << 62])},
        BenchSwitch: lambda: {"tasks": chance.choice([0, 1, 2, 33, 4097]),
                              "priority": chance.choice([0, 1, 100])},
        # Real-time threads of a session must not starve the others.
        Wakeup: lambda: {"priority": chance.choice([0, 1, 2, 100])},
        Recorder: lambda: {"engine": chance.choice([0, 0, 3])},
    }  # fmt: skip
    make = safe.get(type(message))
    return changed(message, **make()) if make is not None else message


def session(chance: random.Random, folder: Path) -> list[Message]:
    """Return the commands of a session."""
    commands: list[Message] = [Hello(__version__)] if chance.random() < 0.9 else []
    for _ in range(chance.choice([1, 3, 10, 30])):
        kind = chance.choice(COMMANDS)
        commands.append(harmless(chance, made(chance, kind), folder))
        if chance.random() < 0.3:
            commands.append(chance.choice([Stop(), Pause(1)]))
    return commands


@dataclass
class Sessions:
    """Sessions with a probe that was built for it."""

    probe: Path
    folder: Path
    result: fuzz_case.Result

    def once(self, chance: random.Random) -> None:
        """Have one session; what is wrong with it is a find."""
        commands = session(chance, self.folder)
        frames: list[bytes] = []
        link = Link(frames.append)
        for command in commands:
            with contextlib.suppress(WireError):
                link.send(command)
        stream = b"".join(frames)
        if chance.random() < 0.2:
            stream = fuzz_case.damage(chance, stream)
        words = [str(self.probe)]
        if chance.random() < 0.2:
            (self.folder / "plan").write_bytes(stream)
            words += ["--plan", str(self.folder / "plan")]
        text = "\n".join(map(repr, commands))
        error = self.converse(words, stream, chance)
        if error is not None:
            add_find(self.result, "sessions", text, error)
        self.result.units += len(commands)

    def converse(self, words: Sequence[str], stream: bytes, chance: random.Random) -> str | None:
        """Run the probe, say all, listen a while, and leave; return what is wrong."""
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                             env=environment, bufsize=0) as process,
        ):  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            until = time.monotonic() + chance.choice([0.05, 0.2, 0.5])
            os.set_blocking(process.stdin.fileno(), False)
            while (left := until - time.monotonic()) > 0 and process.poll() is None:
                ready, free, _ = select.select(
                    [process.stdout], [process.stdin] if stream else [], [], left
                )
                if ready and not os.read(process.stdout.fileno(), 1 << 16):
                    break
                with contextlib.suppress(BrokenPipeError, BlockingIOError):
                    if free:
                        stream = stream[os.write(process.stdin.fileno(), stream) :]
            process.stdin.close()
            process.stdout.close()
            try:
                process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return f"error: it did not end within {ENDS_S:.0f} s of its host's"
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if "Sanitizer" in said or "runtime error" in said or process.returncode not in (0, 2):
            return said or f"error: it ended with {process.returncode}"
        return None


def run_sessions(seed: int, seconds: float) -> fuzz_case.Result:
    """Fuzz whole sessions for some seconds."""
    result = fuzz_case.Result("sessions")
    with tempfile.TemporaryDirectory() as folder:
        sessions = Sessions(build_probe(Path(folder)), Path(folder), result)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            sessions.once(random.Random(f"sessions {seed} {result.cases}"))
            result.cases += 1
        result.seconds = time.monotonic() - began
    return result
