"""What the tracefs engine says of the wakeups of a program: what made each due, and when.

The events are written down here, one a line.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tracefs_builds import build_driver

from whylate.wire.app_samples import ORIGINS

pytestmark = pytest.mark.machine

ME, OTHER = 100, 300
#: Kinds of events (probe/src/recorder/event.h).
VECTOR_ENTRY, VECTOR_EXIT, TIMER_ENTRY, TIMER_EXIT, WAKING, TIMER_START = 3, 4, 9, 10, 11, 25
#: The address of a timer.
TIMER = 0xFFFF_8880_0123_4560


@dataclass(frozen=True)
class Stage:
    pid: int
    due_ns: int
    origin: str


Run = Callable[[list[str]], list[Stage]]


def event(cpu: int, at: int, kind: int, *, c: int = 0, e: int = 0, f: int = 0) -> str:
    return f"event {cpu} {at} {kind} 0 {c} 0 {e} {f}"


def expiry(at: int, timer: int, pid: int) -> list[str]:
    """An interrupt on CPU 0 in which a timer expires that wakes a thread, which then runs."""
    return [
        event(0, at, VECTOR_ENTRY),
        event(0, at + 10, TIMER_ENTRY, f=timer),
        event(0, at + 20, WAKING, c=pid),
        event(0, at + 30, TIMER_EXIT, f=timer),
        event(0, at + 40, VECTOR_EXIT),
        f"run 0 {at + 50} {OTHER} {pid}",
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    driver = build_driver("watch_driver", tmp_path_factory.mktemp("watch"), sanitized=True)

    def of(lines: list[str]) -> list[Stage]:
        done = subprocess.run(
            [str(driver), "me"],
            check=True, capture_output=True, text=True, input="\n".join(lines), timeout=60,
        )  # fmt: skip
        stages = [[int(word) for word in line.split()[1:]] for line in done.stdout.splitlines()]
        return [Stage(pid, due, ORIGINS[origin]) for _, pid, _, due, origin in stages]

    return of


def test_a_sleeper_is_due_at_the_expiry_of_its_timer(run: Run) -> None:
    started = event(1, 500, TIMER_START, e=900, f=TIMER)
    assert run([started, *expiry(1000, TIMER, ME)]) == [Stage(ME, 900, "timer")]


def test_a_timer_that_was_started_again_has_its_last_deadline(run: Run) -> None:
    started = [event(0, at, TIMER_START, e=at + 400, f=TIMER) for at in (100, 200, 300)]
    assert run([*started, *expiry(1000, TIMER, ME)]) == [Stage(ME, 700, "timer")]


def test_timers_of_other_threads_do_not_evict_a_timer(run: Run) -> None:
    addresses = [TIMER + 64 * i for i in random.Random(1).sample(range(1 << 30), 3050)]
    mine, other = addresses[:50], addresses[50:]
    lines = [event(0, 100 + i, TIMER_START, e=50_000, f=address) for i, address in enumerate(mine)]
    # Those of others expire and are started again; some never expire.
    for i, address in enumerate(other):
        at = 1000 + 10 * i
        lines.append(event(1, at, TIMER_START, e=at + 2, f=address))
        if i % 4:
            lines.append(event(1, at + 3, TIMER_ENTRY, f=address))
            lines.append(event(1, at + 4, TIMER_EXIT, f=address))
    for i, address in enumerate(mine):
        lines += expiry(60_000 + 100 * i, address, ME + i)
    assert run(lines) == [Stage(ME + i, 50_000, "timer") for i in range(50)]


def test_an_expired_timer_is_dropped(run: Run) -> None:
    lines = [event(0, 500, TIMER_START, e=900, f=TIMER)]
    lines += expiry(1000, TIMER, ME) + expiry(2000, TIMER, ME)
    assert run(lines) == [Stage(ME, 900, "timer"), Stage(ME, 2000, "interrupt")]


def test_a_timer_whose_start_was_not_seen_counts_as_an_interrupt(run: Run) -> None:
    # When it was to expire is not known: no latency is told from a guess of it.
    assert run(expiry(1000, TIMER, ME)) == [Stage(ME, 1000, "interrupt")]
    # One whose expiry lies ahead was started by another clock, or anew.
    ahead = event(0, 500, TIMER_START, e=5000, f=TIMER)
    assert run([ahead, *expiry(1000, TIMER, ME)]) == [Stage(ME, 1000, "interrupt")]
