"""Sections of user code that a test times by the probe, and a program that counts its calls."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from c_programs import ROOT
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.recording.workloads.section import Section as Plan
from whylate.run.workloads.section import SectionRules, parse_place
from whylate.wire.executions import decode_executions
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    CpuStarted,
    Executions,
    Message,
    Result,
    Section,
    SectionArm,
    SectionFloor,
    SectionResult,
    SectionStarted,
    Stop,
)

UPROBES = Path("/sys/bus/event_source/devices/uprobe/type")
NEEDS = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
    pytest.mark.skipif(not UPROBES.exists(), reason="this kernel has no uprobes"),
]

COUNTING = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "whylate_section.h"
volatile int calls, sink;
static void rest(long us) {
    struct timespec pause = {0, us * 1000};
    nanosleep(&pause, 0);
}
__attribute__((noinline, noipa)) int deep(int n) {
    calls++;
    if (n) sink += deep(n - 1);
    return n;
}
__attribute__((noinline, noipa)) void decode_frame(int us) { rest(us); }
static inline __attribute__((always_inline)) void marked(int n) {
    WHYLATE_SECTION_BEGIN(frame);
    rest(n % 2 ? 2000 : 1000);
    WHYLATE_SECTION_END(frame);
}
int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0, depth = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < count; i++) {
        deep(depth);
        decode_frame(300);
        marked(i);
        if (i % 2) marked(i);
    }
    printf("%d\\n", calls);
    return 0;
}
"""


@dataclass
class Timed:
    """All that the probe sent of a section."""

    started: SectionStarted | None = None
    account: SectionResult | None = None
    start_ns: dict[int, int] = field(default_factory=dict)
    duration_ns: list[int] = field(default_factory=list)
    #: enum execution_flag, of each.
    flags: list[int] = field(default_factory=list)
    arms: list[SectionArm] = field(default_factory=list)
    #: Before the run, and after it.
    floors: list[SectionFloor] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    done: bool = False

    def receive(self, _: Frame, message: Message) -> None:
        match message:
            case SectionStarted():
                self.started = message
            case CpuStarted():
                self.start_ns[message.cpu] = message.start_ns
            case Executions():
                decoded = decode_executions(message, self.start_ns[message.cpu])
                self.duration_ns += decoded.rows.latency_ns.tolist()
                self.flags += decoded.flags.tolist()
                self.pids |= set(decoded.threads.pid.tolist())
            case SectionFloor():
                self.floors.append(message)
            case SectionArm():
                self.arms.append(message)
            case SectionResult():
                self.account = message
            case Result():
                self.done = True

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Entries, and how many returned, were left, and were too deep."""
        assert self.account is not None
        account = self.account
        parts = (account.returned, account.left, account.too_deep)
        assert account.entries == sum(parts) + account.in_flight + account.no_room
        return account.entries, *parts


def command(text: str, hook: str = "best", **keywords: object) -> Section:
    plan = Plan(duration_ns=60 * 10**9, spool=False, place=parse_place(text, hook), **keywords)  # type: ignore[arg-type]
    return SectionRules().start(plan, [])


@contextmanager
def timing(section: Section) -> Iterator[tuple[Timed, Callable[[Callable[[], bool]], None]]]:
    """Time a section while a block runs, from before its start to after its end.

    Yields what the probe has sent so far, and what receives more until a condition is true.
    """
    timed = Timed()
    started = LocalBoard().start_probe(lambda _: None)
    with closing(started.stream) as stream:
        client = Client(stream)
        client.hello()
        client.keepalive(started.keepalive_s)
        client.on_message = timed.receive
        client.call(section)
        pump(client, lambda: len(timed.start_ns) > 0)
        yield timed, partial(pump, client)
        client.call(Stop())
        pump(client, lambda: timed.done)
        client.finish()


def time_section(section: Section, run: Callable[[], object]) -> Timed:
    """Time a section while something runs, from before its start to after its end."""
    with timing(section) as (timed, _):
        run()
    return timed


def pump(client: Client, is_over: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_over():
        assert time.monotonic() < until
        client.pump(0.05)


def compiled(folder: Path, text: str, *flags: str, compiler: str = "cc") -> Path:
    source = folder / ("p.cc" if "+" in compiler else "p.c")
    source.write_text(text)
    include = f"-I{ROOT / 'include'}"
    subprocess.run([compiler, "-O1", include, *flags, source, "-o", folder / "p"], check=True)
    return folder / "p"


def code_of(pid: int, file: Path) -> bytes:
    """Return the code of a program as it is in a process: breakpoints are in it."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    match = re.search(rf"^(\w+)-(\w+) r-xp .* {file}$", maps, re.MULTILINE)
    assert match is not None
    begin, end = (int(part, 16) for part in match.groups())
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(begin)
        return memory.read(end - begin)


def output(*words: str | Path) -> Callable[[], str]:
    def run() -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    return run
