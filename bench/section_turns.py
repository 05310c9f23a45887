"""Turns of tools that time a section, on the virtual board pc, in virtual time.

A turn: a tool is started on the board, the module of section_board/calls.c makes its calls and logs
them, and the tool is ended. The tools are those of Debian's packages, which are put into the image
with the libraries that they need.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from whylate import __version__
from whylate.boards.board import ImageFile, notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.qemu.port import FileStream
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults import build
from whylate.lab.faults.place import SERVICES
from whylate.lab.image import build as build_image
from whylate.lab.packages import Packages, contents, read_member
from whylate.probe.client import Client, Stream
from whylate.probe.errors import ProbeGoneError
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.run.unattended import Script
from whylate.run.workloads.counters import counters_command, resolve_counters
from whylate.run.workloads.section import SectionRules
from whylate.wire.executions import decode_executions
from whylate.wire.messages import (
    CpuStarted,
    Executions,
    Failed,
    Finish,
    Hello,
    Message,
    Phase,
    SectionFloor,
    SectionResult,
)

HERE = Path(__file__).resolve().parent / "section_board"
BOARD = "pc"
FUNCTION = "srcu_notifier_call_chain"
#: Debian 12's packages of both tools and of all libraries that they need.
PACKAGES = (
    "libbpf-tools", "linux-perf", "libc6", "libelf1", "zlib1g", "libdw1", "libunwind8", "liblzma5",
    "libslang2", "libperl5.36", "libpython3.11", "libzstd1", "libcap2", "libnuma1",
    "libbabeltrace1", "libopencsd1", "libstdc++6", "libgcc-s1", "libbz2-1.0", "libcrypt1",
    "libexpat1", "libuuid1", "libglib2.0-0", "libpcre2-8-0",
)  # fmt: skip
PROGRAMS = ("funclatency", "perf")
LOADER = "ld-linux-x86-64.so.2"
NOTHING = "nothing"
OURS = ("whylate-fentry", "whylate-kprobe")
PAIRS = ("fentry-empty", "fentry-clock", "fentry-hash", "kprobe-empty", "kprobe-hash")
#: Calls that the kernel counts for pairs, which do not count themselves.
COUNTED = 100
#: Board time that each run of the probe times, and more for each call; they are over before.
OURS_NS, CALL_NS = 2_000_000_000, 6_000
#: Of more calls some are drawn, and have a row: about so many.
ROWS = 10_000
#: The longest that a board with all turns may take on this machine.
PATIENCE_S = 3600.0

#: A line of a histogram. funclatency: "512 -> 1023 : 7 |**|"; perf: "512 - 1024 ns | 7 | ## |".
BIN = re.compile(r"^ *(\d+) *->? *[\d.]+ *(?:(ns|us|ms) *\||:) *(\d+)", re.MULTILINE)

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Turn:
    """What is done: a tool, and what the module is told."""

    tool: str
    calls: tuple[int, int, int, int]
    number: int = 0


@dataclass(frozen=True)
class Log:
    """What the module logged, in order of begin_ns; each shape (n,)."""

    call_ns: Numbers
    begin_ns: Numbers
    end_ns: Numbers
    batch_ns: int

    @property
    def duration_ns(self) -> Numbers:
        """How long each execution took by its own clock."""
        return self.end_ns - self.begin_ns


@dataclass(frozen=True)
class Seen:
    """What a tool printed or sent.

    bins: its histogram, how many executions from each power of two on, ns. printed: the same, as
    the tool names its bins. begin_ns, duration_ns: its rows; None where it has none. count:
    executions it counted.
    """

    count: int
    bins: dict[int, int]
    printed: dict[int, int]
    begin_ns: Numbers | None = None
    duration_ns: Numbers | None = None
    account: SectionResult | None = None
    floor: SectionFloor | None = None


@dataclass(frozen=True)
class Done:
    """A turn that was carried out."""

    turn: Turn
    log: Log
    seen: Seen | None


# ---------------------------------------------------------------- the board


def board_files(turns: Sequence[Turn], counters: Sequence[str]) -> list[ImageFile]:
    """Return all that is put on the board; raises LabError and RequestError."""
    board = virtual_board(BOARD)
    with building(cache_directory()):
        build_image(board, notify_nobody)
        headers = build.kernel_headers(board, notify_nobody)
        files = tool_files()
    with tempfile.TemporaryDirectory(prefix="whylate-section-") as folder:
        here = Path(folder)
        for source in ("calls.c", "pair.c"):
            shutil.copy(HERE / source, here)
        (here / "Kbuild").write_text("obj-m := calls.o\nccflags-y := -Werror\n")
        build.run(["make", "-s", "-C", str(headers), f"M={here}", "modules"], "calls.c", here)
        compiler = build.COMPILERS["x86_64"][0]
        build.run([compiler, *build.FLAGS, "-o", "pair", "pair.c"], "pair.c", here)
        files += [
            ("/whylate/calls.ko", (here / "calls.ko").read_bytes(), 0o644),
            ("/whylate/pair", (here / "pair").read_bytes(), 0o755),
        ]
    lines = [f"{turn.number:04d} {turn.tool} {' '.join(map(str, turn.calls))}" for turn in turns]
    files += [
        ("/whylate/turns", ("\n".join(lines) + "\n").encode(), 0o644),
        (SERVICES, f"FUNCTION={FUNCTION}\n".encode() + (HERE / "turns.sh").read_bytes(), 0o755),
    ]
    files += [
        (f"/whylate/{turn.number:04d}.plan", plan_of(turn, counters), 0o644)
        for turn in turns
        if turn.tool in OURS
    ]
    return files


def plan_of(turn: Turn, counters: Sequence[str]) -> bytes:
    """Return the plan with which the probe times the function by one hook; raises RequestError."""
    hook = turn.tool.partition("-")[2]
    section = Section(
        duration_ns=OURS_NS + CALL_NS * turn.calls[0],
        place=KernelFunction(FUNCTION, hook),  # type: ignore[arg-type]
        one_in=max(1, turn.calls[0] // ROWS),
        counters=[CounterPlan(name) for name in counters],
    )
    script = Script()
    commands = [Hello(__version__), Phase(0)]
    if counters:
        commands.append(counters_command(resolve_counters(section.counters, None)))
    for command in (*commands, SectionRules().start(section, ()), Finish()):
        script.add(command, set())
    return bytes(script.frames)


def tool_files() -> list[ImageFile]:
    """Return both tools and the libraries that they need; raises LabError."""
    packages = Packages(cache_directory() / "packages", "amd64")
    found: dict[str, bytes] = {}
    links: dict[str, str] = {}
    for name in PACKAGES:
        with contents(packages.fetch(name, lambda line: print(line, file=sys.stderr))) as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                is_program = path.name in PROGRAMS and "bin" in path.parent.name
                if not is_program and ".so" not in path.name:
                    continue
                if member.issym():
                    links[path.name] = PurePosixPath(member.linkname).name
                elif member.isfile():
                    found.setdefault(path.name, read_member(tar, member))
    wanted, files = [*PROGRAMS, LOADER], dict[str, ImageFile]()
    while wanted:
        name = wanted.pop()
        if name in files:
            continue
        data = found.get(links.get(name, name))
        if data is None:
            raise LabError(f"no package of this list has {name}: {', '.join(PACKAGES)}")
        folder = "/bin" if name in PROGRAMS else "/usr/lib/x86_64-linux-gnu"
        files[name] = (f"{folder if name != LOADER else '/lib64'}/{name}", data, 0o755)
        wanted += needed_by(data)
    return list(files.values())


def needed_by(data: bytes) -> list[str]:
    """Return the names of the libraries that an ELF file needs."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        text = build.run(["readelf", "-d", file.name], "a library", Path("/"))
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def carry_out(turns: Sequence[Turn], keep: Path | None, counters: Sequence[str] = ()) -> list[Done]:
    """Boot the board once, and return what each turn gave.

    counters: what is read at both ends of each of ours. Raises LabError, BoardError and
    RequestError.
    """
    options = VirtualOptions(cpus=1, files=tuple(board_files(turns, counters)))
    board = QemuBoard(virtual_board(BOARD), options)
    board.hold(notify_nobody)
    try:
        started = board.carry_out(b"", 1, notify_nobody)
        with closing(started.stream):
            data = read_all(started.stream)
            console = board.console.log.read_text(errors="replace")
    finally:
        board.close()
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / "turns.tar").write_bytes(data)
        (keep / "console.log").write_text(console)
    if re.search(r"BUG|Oops|Unable to handle", console) or not data:
        sys.exit(f"the board did not carry out its turns: {console[-2000:]}")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {
            member.name: read_member(tar, member) for member in tar.getmembers() if member.isfile()
        }
    return [done_turn(turn, files) for turn in turns]


def read_all(stream: Stream) -> bytes:
    """Return what comes until the board is off."""
    pieces, ends = [], time.monotonic() + PATIENCE_S
    while piece := stream.read(1 << 20):
        pieces.append(piece)
        if time.monotonic() > ends:
            sys.exit(f"the board took longer than {PATIENCE_S:.0f} s")
    return b"".join(pieces)


def done_turn(turn: Turn, files: dict[str, bytes]) -> Done:
    """Return a turn with what it left."""
    place = f"turns/{turn.number:04d}"
    rows = np.array([line.split() for line in files[f"{place}/log"].splitlines()], np.int64)
    log = Log(rows[:, 0], rows[:, 1], rows[:, 2], int(files[f"{place}/batch"]))
    if turn.tool == NOTHING:
        return Done(turn, log, None)
    out, err = files[f"{place}/out"], files[f"{place}/err"].decode(errors="replace")
    try:
        seen = (read_ours if turn.tool in OURS else read_printed)(out)
    except ValueError as error:
        sys.exit(f"turn {turn.number}, {turn.tool}: {error}: {err[-500:]} {out[-500:]!r}")
    return Done(turn, log, seen)


# ---------------------------------------------------------------- what tools print


def read_printed(out: bytes) -> Seen:
    """Read what a peer or a pair printed; raises ValueError."""
    text = out.decode(errors="replace")
    if runs := re.search(r"^runs (\d+) (\d+)$", text, re.MULTILINE):
        return Seen(min(int(runs[1]), int(runs[2])), {}, {})
    rows = BIN.findall(text)
    if not rows:
        raise ValueError("no histogram")
    # perf's units are powers of 1024 of what it counts in.
    scale = {"": 1, "ns": 1, "us": 1 << 10, "ms": 1 << 20}
    bins = {int(low) * scale[unit]: int(count) for low, unit, count in rows}
    # perf of Linux 6.1 names each bin by half of what it has counted there: an execution of 2^i is
    # in bin i (make_histogram), which is printed as 2^(i-1) to 2^i (display_histogram).
    is_perf = "DURATION" in text
    true_bins = {2 * low: count for low, count in bins.items()} if is_perf else bins
    return Seen(sum(bins.values()), true_bins, bins)


def read_ours(out: bytes) -> Seen:
    """Decode what the probe wrote; raises ValueError."""
    messages = decode(out)
    refused = [message for message in messages if isinstance(message, Failed)]
    accounts = [message for message in messages if isinstance(message, SectionResult)]
    if refused or not accounts:
        raise ValueError(f"the probe refused: {refused}")
    (start,) = [message.start_ns for message in messages if isinstance(message, CpuStarted)]
    blocks = [decode_executions(m, start) for m in messages if isinstance(m, Executions)]
    begin_ns = np.concatenate([np.empty(0, np.int64), *(b.threads.due_ns for b in blocks)])
    duration_ns = np.concatenate([np.empty(0, np.int64), *(b.rows.latency_ns for b in blocks)])
    order = np.argsort(begin_ns, kind="stable")
    floors = [m for m in messages if isinstance(m, SectionFloor) and not m.after]
    return Seen(
        count=accounts[0].returned,
        bins=bins_of(duration_ns),
        printed=bins_of(duration_ns),
        begin_ns=begin_ns[order],
        duration_ns=duration_ns[order],
        account=accounts[0],
        floor=floors[0] if floors else None,
    )


def decode(out: bytes) -> list[Message]:
    """Return the messages of a probe that has ended."""
    messages: list[Message] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        path.write_bytes(out)
        with closing(FileStream(path, lambda: False, lambda: None)) as stream:
            client = Client(stream)
            while True:
                try:
                    messages += client.pump(0.5)
                except ProbeGoneError:
                    return messages


def bins_of(duration_ns: Numbers) -> dict[int, int]:
    """Return how many durations are from each power of two on, below the next."""
    lows, counts = np.unique(np.floor(np.log2(np.maximum(duration_ns, 1))), return_counts=True)
    return {1 << int(low): int(count) for low, count in zip(lows, counts, strict=True)}
