"""Hits counted on this machine, and what is left behind: nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner

import starts
from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.cli import whylate
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.hits import check_hits
from whylate.run.resolve import resolve
from whylate.run.unattended import write_script
from whylate.wire.frame import FrameDecoder
from whylate.wire.messages import MESSAGES, CpuHits, Hits, HitsEnd, HitSource, Message

pytestmark = pytest.mark.machine

T = TypeVar("T")
SWITCH = "sched:sched_switch"
root = pytest.mark.skipif(os.geteuid() != 0, reason="counting in every process needs root")


def measured(directory: Path, *words: str) -> dict[str, Any]:
    done = starts.run(
        [sys.executable, "-m", "whylate", *words, "--json", "-o", str(directory)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@root
@pytest.mark.realtime
def test_a_tracepoint_is_counted_on_the_measured_cpus_alone(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "measure", "--for", "1s", "--cpus", "0", "--no-recorder",
        "--hits", SWITCH, "--hits", "nope:nope", "--hits", "facts:kernel_release contains .",
    )  # fmt: skip
    switch, absent, line = document["hits"]
    # A thread that sleeps to each of 1,000 activations switches in and out for it.
    assert switch["count"] > 1_900
    assert [cpu["cpu"] for cpu in switch["cpus"]] == [0]
    assert switch["how"] == "tracepoint"
    assert (absent["count"], "no tracepoint nope:nope" in absent["why"]) == (0, True)
    assert (line["count"], line["how"]) == (1, "uname release")
    assert f"<code>{SWITCH}</code>" in (tmp_path / "r" / "report.html").read_text()


@root
@pytest.mark.realtime
def test_hits_are_counted_beside_a_benchmark(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "bench", "switch", "--tasks", "2", "--rounds", "1", "--repetitions", "1",
        "--block", "2ms", "--hits", SWITCH,
    )  # fmt: skip
    assert document["hits"][0]["count"] > 100


@pytest.fixture
def probe() -> Iterator[tuple[Client, int]]:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        client.hello()
        assert isinstance(stream, ProcessStream)
        yield client, stream.pid


def answers(client: Client, command: Message, kind: type[T]) -> list[T]:
    return [message for message in client.call(command) if isinstance(message, kind)]


@root
def test_a_function_is_counted_or_it_is_said_why_not(probe: tuple[Client, int]) -> None:
    """Which of them depends on the kernel: a virtual machine's may have neither way."""
    client, _ = probe
    names = ("no_such_function_here", "hrtimer_nanosleep")
    absent, function = answers(client, Hits(names, (0,)), HitSource)
    assert absent.error == errno.ENOENT
    assert absent.text == (
        "this kernel has no function no_such_function_here: it is absent, or inlined"
    )
    (counts,) = answers(client, HitsEnd(), CpuHits)
    assert counts.values[0] == 0
    assert (function.error == 0) == (function.text in ("kprobe", "ftrace"))


@root
def test_a_name_that_is_no_name_opens_no_file(probe: tuple[Client, int]) -> None:
    names = ("../../x:id", "a:b:c", ":x", "x:", "f oo", "*")
    sources = answers(probe[0], Hits(names, (0,)), HitSource)
    assert [source.error for source in sources] == [errno.EINVAL] * len(names)


def perf_descriptors(pid: int) -> int:
    """Return how many counters a process and its children hold."""
    pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    links = []
    for fd in (fd for each in pids for fd in Path(f"/proc/{each}/fd").iterdir()):
        # It may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            links.append(str(fd.readlink()))
    return links.count("anon_inode:[perf_event]")


@root
def test_counters_are_given_back_when_they_were_read(probe: tuple[Client, int]) -> None:
    """A counter lives as long as its descriptor: after a kill there is nothing to undo."""
    client, pid = probe
    assert perf_descriptors(pid) == 0
    client.call(Hits((SWITCH,), (0,)))
    assert perf_descriptors(pid) == 1
    client.call(Hits((SWITCH, "sched:sched_waking"), (0,)))
    assert perf_descriptors(pid) == 2
    client.call(HitsEnd())
    assert perf_descriptors(pid) == 0
    client.call(Hits((SWITCH,), (0,)))
    client.finish()
    assert perf_descriptors(pid) == 0


@pytest.mark.parametrize(
    "command", [Hits((), (0,)), Hits((SWITCH,), ()), Hits((SWITCH,) * 9, (0,))]
)
def test_the_probe_refuses_what_has_no_room(probe: tuple[Client, int], command: Hits) -> None:
    with pytest.raises(ProbeRefusedError, match="invalid hits"):
        probe[0].call(command)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["a b"], "write a function"),
        (["x" * 128], "write a function"),
        (["a:b:c"], "write a function"),
        (["facts:nope"], "facts:NAME contains TEXT"),
        (["f", "f"], "twice"),
        ([f"f{n}" for n in range(9)], "up to 8"),
    ],
)
def test_what_no_board_can_count_is_refused(names: list[str], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        check_hits(names)
    result = CliRunner().invoke(whylate, ["measure", *(w for n in names for w in ("--hits", n))])
    assert result.exit_code != 0


def test_in_virtual_time_hits_are_counted_round_the_workload() -> None:
    request = RunPlan(
        workload=Wakeup(duration_ns=10_000_000, interval_ns=1_000_000), cpus=[0], hits=["f", SWITCH]
    )
    script = write_script(resolve(request, [0, 1]), "6.1")
    kinds = [MESSAGES[frame.kind].__name__ for frame in FrameDecoder().feed(bytes(script.frames))]
    assert kinds.index("Hits") < kinds.index("Wakeup") < kinds.index("HitsEnd")
    assert "Hits" not in [
        MESSAGES[frame.kind].__name__
        for frame in FrameDecoder().feed(
            bytes(write_script(resolve(RunPlan(workload=request.workload), [0]), "6.1").frames)
        )
    ]
