"""A probe that means harm: `hostile_probe.py WHAT` speaks the wire on its standard streams.

It answers as a probe does until the phase that WHAT is about, and then floods, trickles, or lies.
"""

from __future__ import annotations

import itertools
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path

from whylate import __version__
from whylate.probe.link import Link
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    MESSAGES,
    CpuResult,
    CpuStarted,
    Done,
    File,
    Mark,
    Message,
    Note,
    Progress,
    Resend,
    Result,
    Samples,
    Wakeup,
    Welcome,
)

#: The time of a board that has been on for a day.
UPTIME_NS = 86_400 * 1_000_000_000
MOST = (1 << 64) - 1
Flood = Callable[[int], Message]


def welcome(cpus: int = 2) -> Welcome:
    numbers = tuple(range(cpus))
    return Welcome(
        __version__, "x86_64", "Linux", "b", "6.1.0", "#1", "x86_64", 0, 0, 99, MOST, 1, 30, numbers
    )


def note(_: int) -> Note:
    return Note("x", "y" * 200)


#: WHAT: the command that is answered by an endless flood, and its messages.
FLOODS: dict[str, tuple[str, Flood]] = {
    "notes for a hello": ("Hello", note),
    "welcomes": ("Frequency", lambda _: welcome(1024)),
    "notes for frequencies": ("Frequency", note),
    "files": ("Read", lambda n: File(0, 0, 0, 0, f"/{n}", b"x" * 3000)),
    "an endless file": ("Read", lambda _: File(0, 0, 0, 1, "/x", b"x" * 3000)),
    "notes while it measures": ("Wakeup", note),
    "samples": ("Wakeup", lambda n: Samples(0, 1000, 1000 * n, b"\1" * 1000)),
    "the same overruns": ("Wakeup", lambda _: Samples(0, 1, 0, b"\1\0\xe0\7")),
    "notes for finish": ("Finish", note),
    "marks": ("Frequency", Mark),
    "requests": ("Frequency", lambda _: Resend(1, 65535, b"")),
}
#: WHAT: the same, a message every 20 ms.
TRICKLES: dict[str, tuple[str, Flood]] = {
    "a trickle of notes": ("Frequency", note),
    "a trickle of progress": ("Wakeup", lambda n: Progress(UPTIME_NS + n, (n % 100,))),
    "a trickle of old samples": ("Wakeup", lambda _: Samples(0, 1, 0, b"\1")),
}
#: WHAT: the start, end, and interval of a CPU that was asked for a second.
SCHEDULES = {
    "an interval of 0": (UPTIME_NS, UPTIME_NS + 10**9, 0),
    "an endless interval": (UPTIME_NS, UPTIME_NS + 10**9, MOST),
    "a start at the end of time": (MOST - 10**9, MOST, 1_000_000),
    "a run without an end": (UPTIME_NS, MOST, 1_000_000),
    "a run of a century": (UPTIME_NS, UPTIME_NS + 10**18, 50_000),
    "an end before the start": (UPTIME_NS + 10**9, UPTIME_NS, 1_000_000),
}
#: WHAT: never answers that command, or sends what is no message after it.
SILENCES = {"1024 CPUs": "Frequency", "no end": "Finish"}
NOISES = {"garbage": "/dev/urandom", "zeros": "/dev/zero", "garbage after hello": "/dev/urandom"}


class HostileProbe:
    """The link of a probe, and what it does with each command."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.link = Link(self.write)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def run(self) -> None:
        if self.what in ("garbage", "zeros"):
            self.noise()
        while True:
            if not select.select([0], [], [], 0.05)[0]:
                self.link.tick()
                continue
            data = os.read(0, 1 << 16)
            if not data:
                return
            for frame in self.link.receive(data):
                self.answer(frame)

    def noise(self) -> None:
        with Path(NOISES[self.what]).open("rb") as source:
            while True:
                self.write(source.read(1 << 16))

    def send(self, message: Message) -> None:
        if message.KIND >= 0xF0:
            self.link._control_out(message)
        else:
            self.link.send(message)

    def flood(self, message: Flood, pause_s: float = 0.0) -> None:
        """Send one message after the other, for ever; what the host says is read."""
        for number in itertools.count():
            self.send(message(number))
            time.sleep(pause_s)
            while (pause_s or number % 64 == 0) and select.select([0], [], [], 0)[0]:
                data = os.read(0, 1 << 16)
                if not data:
                    sys.exit()
                self.link.receive(data)

    def answer(self, frame: Frame) -> None:
        command = MESSAGES[frame.kind].unpack(frame.payload)
        name = type(command).__name__
        if name == "Hello" and self.what != "notes for a hello":
            self.link.send(welcome(1024 if self.what == "1024 CPUs" else 2))
            if self.what == "garbage after hello":
                self.noise()
        if isinstance(command, Wakeup):
            self.start(command)
        for floods, pause_s in ((FLOODS, 0.0), (TRICKLES, 0.02)):
            if floods.get(self.what, ("",))[0] == name:
                self.link.send(Done(frame.number if name == "Wakeup" else 0))
                self.flood(floods[self.what][1], pause_s)
        if SILENCES.get(self.what) != name and name != "Hello":
            self.link.send(Done(frame.number))
        if isinstance(command, Wakeup):
            self.end(command)

    def schedule(self, asked: Wakeup) -> tuple[int, int, int]:
        sound = (UPTIME_NS, UPTIME_NS + asked.duration_ns, asked.interval_ns)
        return SCHEDULES.get(self.what, sound)

    def start(self, asked: Wakeup) -> None:
        for cpu in asked.cpus:
            self.link.send(CpuStarted(cpu, 1, 80, 1, *self.schedule(asked)))

    def end(self, asked: Wakeup) -> None:
        """Send what was measured, as WHAT wants."""
        start_ns, end_ns, _ = self.schedule(asked)
        count = asked.duration_ns // asked.interval_ns
        for cpu in asked.cpus:
            for first in range(0, count, 1000):
                some = min(1000, count - first)
                data = b"\1" * some
                if self.what == "a latency of a century":
                    data = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + b"\0" * (some - 1)
                self.link.send(Samples(cpu, some, first, data))
        self.link.send(Progress(MOST if self.what == "absurd progress" else end_ns, (count, count)))
        seen = MOST if self.what == "absurd counts" else count
        for cpu in asked.cpus:
            self.link.send(CpuResult(cpu, 1, 80, 1, start_ns, end_ns, seen, 0, 0))
        self.link.send(Result(1000, MOST if self.what == "an absurd result" else 1000))


if __name__ == "__main__":
    try:
        HostileProbe(sys.argv[1]).run()
    except BrokenPipeError:
        os._exit(0)
