"""Choose the threads to explain where the user named none: those that are obviously measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from whylate.recording.activation import FAIR, Activation, Waker
from whylate.recording.errors import RecordingError
from whylate.recording.events import Reason
from whylate.recording.traces.cutout import CutOut
from whylate.recording.traces.follow import Follower
from whylate.recording.traces.layouts import Layout
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.watch import Watch

#: How threads of programs that measure latency begin their names.
MEASURING = ("cyclictest", "timerlatu/", "rtla", "cyclicdeadline", "oslat", "signaltest",
             "pmqtest", "ptsematest", "sigwaittest", "svsematest", "whylate")  # fmt: skip
#: Threads of the kernel with a high priority because other threads wait for them.
OF_THE_KERNEL = ("migration/", "irq/", "ktimers/", "ksoftirqd/", "rcu", "watchdog/", "stopper/",
                 "idle_inject/", "cpuhp/", "irq_work/", "timerlat/", "osnoise/",
                 "kworker/")  # fmt: skip
#: Woken by a timer at least so often: less is no periodic thread.
FEWEST = 5
#: Threads that an error names.
SHOWN_THREADS = 5


@dataclass(frozen=True)
class Thread:
    """A thread that was woken: how often, and how often by a timer."""

    pid: int
    name: str
    prio: int
    wakeups: int
    by_timer: int


@dataclass(frozen=True)
class Chosen:
    """The threads that are explained, and the reason."""

    watch: Watch
    why: str


@dataclass
class _Survey:
    wakeups: Counter[tuple[int, str, int]] = field(default_factory=Counter)
    by_timer: Counter[tuple[int, str, int]] = field(default_factory=Counter)

    def count_wakeup(self, activation: Activation, cut: Callable[[Reason, int], CutOut]) -> None:
        del cut
        key = activation.pid, activation.name, activation.prio
        if len(self.wakeups) < (1 << 14) or key in self.wakeups:
            self.wakeups[key] += 1
            self.by_timer[key] += activation.woken.by is Waker.TIMER

    def threads(self) -> list[Thread]:
        return [
            Thread(*key, count, self.by_timer[key]) for key, count in self.wakeups.most_common()
        ]


def choose(head: Iterable[bytes], layout: Layout) -> Chosen:
    """Choose from the beginning of a trace; raises RecordingError where nobody stands out."""
    seen = Seen()
    survey = _Survey()
    follower = Follower(layout, Watch(all_threads=True), survey.count_wakeup, seen)
    for line in head:
        follower.feed(line)
    follower.finish()
    if seen.any_of("timer_latency", "sample_threshold"):
        return Chosen(Watch(tracers=True), "measured by the kernel's own tracer")
    if not seen.any_of("sched_switch"):
        raise RecordingError(
            "the trace has no wakeups: it has no sched_switch events; record sched_switch, "
            "sched_waking, irq:*, irq_vectors:* and timer:hrtimer_* together"
        )
    if not seen.any_of("sched_waking", "sched_wakeup"):
        raise RecordingError(
            "the trace has no wakeups: it has neither sched_waking nor sched_wakeup events; "
            "record sched_switch, sched_waking, irq:*, irq_vectors:* and timer:hrtimer_* together"
        )
    return _the_obvious(survey.threads())


def _the_obvious(threads: list[Thread]) -> Chosen:
    measuring = [thread for thread in threads if thread.name.startswith(MEASURING)]
    real_time = [thread for thread in measuring if thread.prio < FAIR]
    if real_time:
        return _chosen(real_time, "named as those of a program that measures latency")
    periodic = [
        thread
        for thread in threads
        if thread.prio < FAIR
        and thread.by_timer >= FEWEST
        and not thread.name.startswith(OF_THE_KERNEL)
    ]
    if periodic:
        most = min(thread.prio for thread in periodic)
        return _chosen(
            [thread for thread in periodic if thread.prio == most],
            "the highest-priority real-time threads that timers woke",
        )
    if any(thread.by_timer for thread in measuring):
        return _chosen(measuring, "named as those of a program that measures latency")
    most_woken = ", ".join(
        f"{thread.name} (--pid {thread.pid}, {thread.wakeups:,} wakeups)"
        for thread in threads[:SHOWN_THREADS]
    )
    raise RecordingError(
        "no thread is obviously measured: choose one with --comm NAME or --pid N"
        + (f"; woken most: {most_woken}" if most_woken else "; no thread was woken")
    )


def _chosen(threads: list[Thread], why: str) -> Chosen:
    return Chosen(Watch(pids=frozenset(thread.pid for thread in threads)), why)
