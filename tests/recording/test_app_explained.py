"""`whylate explain` on a program's wakeups: the same accounting, from journal to answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from app_journals import NAMES, SECOND, TIMER, Wakeup, app_journal, block
from journals import START

import starts
from leb128 import leb128, zigzag
from whylate.wire.constants import EventKind
from whylate.wire.messages import Events, Message, Name, Window

MS = 1_000_000
ORDINARY = 400
LATE = [100, 200, 300]


def wakeups() -> list[Wakeup]:
    """Two threads in turn, a millisecond apart; three times a stall of 3 ms holds up both."""
    found = []
    for k in range(ORDINARY):
        late = 3 * MS + k if k in LATE else 2 * MS if k - 1 in LATE else 20_000
        found.append(Wakeup(301 + k % 2, k * MS, late, TIMER))
    return found


def window(number: int, one: Wakeup) -> list[Message]:
    """Return a window in which an interrupt has the CPU for all but 10 µs of the time."""
    due, run = START + one.due_ns, START + one.due_ns + one.latency_ns
    ids = {301: 1, 302: 2}
    rows = [
        (EventKind.SWITCH, -400, 1, 4 | 120 << 8, one.pid, 20, 3, 0),
        (EventKind.IRQ_ENTRY, -100, 0, 0, 24, 0, 0, 0),
        (EventKind.IRQ_EXIT, one.latency_ns - 10_000, 0, 0, 24, 0, 0, 0),
        (EventKind.SWITCH, one.latency_ns, 0x80, 120 | 4 << 8, 20, one.pid, ids[one.pid], 0),
    ]
    data, before = b"", 0
    for kind, at, *fields in rows:
        mask = sum(1 << i for i, field in enumerate(fields) if field)
        data += bytes([kind, mask]) + leb128(zigzag(at - before))
        data += b"".join(leb128(field) for field in fields if field)
        before = at
    why = int(one.latency_ns > MS)
    return [
        Window(0, one.pid, 100, why, number, due, run, due + 100, due + 900, run, 0, due - 400,
               len(rows), (0, 0, 0, 0, 0, 0)),
        Events(0, len(rows), data),
    ]  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    all_of_them = wakeups()
    messages: list[Message] = []
    for at in range(0, ORDINARY, 50):
        messages += block(all_of_them[at : at + 50], first=at)
    for k, one in enumerate(all_of_them):
        if one.latency_ns > MS or k % 20 == 7:
            messages += window(k, one)
    names = [Name(1, 1, "pacer"), Name(1, 2, "pacer-io"), Name(1, 3, "make"), Name(3, 24, "eth0")]
    return app_journal(tmp_path / "r", *messages, *names, *NAMES, seen=ORDINARY)


def whylate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return starts.run([sys.executable, "-m", "whylate", *arguments], capture_output=True,
                          text=True, timeout=120, check=False)  # fmt: skip


def test_the_interrupt_that_held_up_both_threads_is_named_once(recording: Path) -> None:
    done = whylate("explain", str(recording), "--threshold", "1ms", "--json", "--worst", "6")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["episodes"], found["episodes_recorded"]) == (3, 3)
    assert found["excess_ns"] == pytest.approx(3 * 2_980_000, rel=1e-3)
    first = found["causes"][0]
    assert (first["cause"], first["detail"]) == ("interrupt", "eth0")
    assert first["located_share"] == pytest.approx(1, abs=0.01)
    worst = found["worst"]
    # One stall is one episode, with the thread that waited longest.
    assert [one["thread"] for one in worst] == ["pacer/301"] * 3
    for one in worst:
        assert sum(piece["length_ns"] for piece in one["pieces"]) == one["latency_ns"]


def test_the_worst_activation_has_its_thread_and_causes(recording: Path) -> None:
    done = whylate("explain", str(recording), "--threshold", "1ms", "--worst", "1")
    assert "3 late episodes above 1 ms" in done.stdout
    assert "CPU 0, activation 300 of pacer/301: 3 ms = interrupt eth0 2.99 ms" in " ".join(
        done.stdout.split()
    )


def test_report_shows_the_run_and_why(recording: Path) -> None:
    done = whylate("report", str(recording))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wakeups of threads named pacer, 1 s" in done.stdout
    assert "400 wakeups = 400 seen + 0 dropped" in done.stdout
    assert "\nwhy  interrupt eth0" in done.stdout
    assert "pacer-io/302" in done.stdout
    assert "activation 300 of pacer/301" in (recording / "report.html").read_text()
    document = json.loads(whylate("report", str(recording), "--json").stdout)
    assert [one["name"] for one in document["per_thread"]] == ["pacer", "pacer-io"]
    assert document["verdict"] == "pass"


def test_two_recordings_part_where_a_wakeup_was_later(recording: Path, tmp_path: Path) -> None:
    moved = wakeups()
    moved[5] = Wakeup(moved[5].pid, moved[5].due_ns, 31_000)
    messages = [m for at in range(0, ORDINARY, 50) for m in block(moved[at : at + 50], first=at)]
    other = app_journal(tmp_path / "s", *messages, seen=ORDINARY)
    done = whylate("diff", str(recording), str(other), "--json")
    found = json.loads(done.stdout)["partings"]
    assert done.returncode == 1
    assert len(found) == 1
    assert (found[0]["at"]["number"], found[0]["at"]["due_ns"]) == (5, 5 * MS)
    assert found[0]["differing"] == 1
    assert found[0]["at"]["due_ns"] < SECOND
