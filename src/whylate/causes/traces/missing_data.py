"""Missing data of a trace, and its consequences for the answer."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.causes.traces.trace_pieces import lacks_interrupts, lacks_softirqs
from whylate.quantities import format_count, format_short_ns
from whylate.recording.activation import Waker
from whylate.recording.traces.latency import LatencyTrace
from whylate.recording.traces.seen import Seen


@dataclass(frozen=True)
class MissingData:
    """what: is missing or damaged; so: what follows from that for the answer."""

    what: str
    so: str


def list_missing_data(seen: Seen) -> list[MissingData]:
    """Return what a trace of events lacks, the gravest first."""
    return [*_lost(seen), *_missing(seen), *_dates(seen)]


def list_missing_latency_data(traces: tuple[LatencyTrace, ...], seen: Seen) -> list[MissingData]:
    """Return what the traces of a latency tracer lack."""
    missing = [
        MissingData(
            "control activations",
            "each trace has the longest episode alone: nothing to compare with",
        )
    ]
    if (left_out := sum(trace.left_out for trace in traces)) > 0:
        missing.append(
            MissingData(f"{format_count(left_out)} lines", "overwritten in the kernel's buffer")
        )
    if any(trace.tracer.startswith("wakeup") for trace in traces):
        missing.append(
            MissingData(
                "how late the timer came",
                "the wakeup tracers begin at the waking: what held the interrupt off is not in it",
            )
        )
    if any(trace.tracer == "irqsoff" for trace in traces):
        missing.append(MissingData("who waited", "an irqsoff section may have made nobody late"))
    return [*_lines(seen), *missing]


def _lines(seen: Seen) -> list[MissingData]:
    missing = []
    if seen.torn:
        missing.append(
            MissingData("the end of the last line", "the file was cut; what precedes was used")
        )
    if seen.odd:
        missing.append(
            MissingData(
                f"{format_count(seen.odd)} lines that were not understood",
                f"the first is line {format_count(seen.odd_line)}; they were left out",
            )
        )
    return missing


def _lost(seen: Seen) -> list[MissingData]:
    missing = _lines(seen)
    if seen.backwards:
        missing.append(
            MissingData(
                f"one clock: that of CPU {seen.backwards_cpu} goes back by "
                f"{format_short_ns(seen.backwards_ns)} at line {format_count(seen.backwards_line)}"
                + (f", and {format_count(seen.backwards - 1)} times more" * (seen.backwards > 1)),
                "nothing was taken to go on across such a step: not observed",
            )
        )
    if seen.impossible:
        there = f"there are {seen.header_cpus}" if seen.header_cpus else "there are at most 4,096"
        missing.append(
            MissingData(
                f"CPU {seen.impossible_cpu}: {there}",
                f"{format_count(seen.impossible)} events of CPUs that are not there were left out",
            )
        )
    losses = seen.losses - seen.backwards
    if losses > 0:
        lost = f"{format_count(seen.lost)} events" if seen.lost else "events"
        missing.append(
            MissingData(
                f"{lost} that were lost in {format_count(losses)} places",
                "the time there was not observed; wakeups that it cuts are not counted",
            )
        )
    if seen.buffered is not None and seen.written is not None and seen.written > seen.buffered:
        missing.append(
            MissingData(
                f"{format_count(seen.written - seen.buffered)} events before the first one",
                "the buffer was written over: the trace has the end of the run alone",
            )
        )
    return missing


def _missing(seen: Seen) -> list[MissingData]:
    missing = []
    events = seen.events
    by_tracer = seen.any_of("timer_latency", "sample_threshold")
    if by_tracer and not seen.any_of("sched_switch"):
        if not seen.any_of("thread_noise"):
            missing.append(
                MissingData(
                    "sched_switch, osnoise:thread_noise",
                    "only who had the CPU when the timer's interrupt came is known: other threads "
                    "are unexplained",
                )
            )
        else:
            missing.append(
                MissingData(
                    "priorities",
                    "a thread that ran instead counts as higher-priority, unless it had "
                    "been interrupted",
                )
            )
    if seen.without_waking:
        missing.append(
            MissingData(
                "sched_waking",
                "taken at sched_wakeup: what a call to the other CPU took counts as before it",
            )
        )
    if seen.unswitched:
        missing.append(
            MissingData(
                f"the switch to the thread in {format_count(seen.unswitched)} wakeups, the first "
                "on "
                f"CPU {seen.unswitched_cpu}",
                "not counted (some kernels do not trace switches from the idle thread)",
            )
        )
    if lacks_interrupts(seen):
        if seen.bare_timers and any(name.endswith("irq_handler_entry") for name in events):
            missing.append(
                MissingData(
                    "irq_vectors:*",
                    "the local timer's interrupts and calls between CPUs count as what "
                    "they interrupt; where nothing else was seen, it is unexplained",
                )
            )
        else:
            missing.append(
                MissingData(
                    "irq:irq_handler_*, irq_vectors:*",
                    "interrupts count as what they interrupt, and disabled "
                    "interrupts are not visible; without other evidence time is unexplained",
                )
            )
    if lacks_softirqs(seen):
        missing.append(
            MissingData("irq:softirq_*", "softirqs count as the thread that they interrupt")
        )
    if not seen.any_of("contention_begin"):
        missing.append(
            MissingData("lock:contention_*", "waiting for a lock counts as the context that waits")
        )
    if seen.idled and not seen.any_of("cpu_idle"):
        missing.append(MissingData("power:cpu_idle", "leaving an idle state counts as idling"))
    missing.append(
        MissingData(
            "exit latencies of idle states, steal time",
            "late idle exit and what a hypervisor took are unexplained",
        )
    )
    return missing


def _dates(seen: Seen) -> list[MissingData]:
    missing = []
    if seen.undated:
        missing.append(
            MissingData(
                f"timer:hrtimer_start of {format_count(seen.undated)} timers",
                "due counts from the interrupt: how late that came is not known",
            )
        )
    elif not seen.wakers[Waker.TIMER] and not seen.traced:
        missing.append(
            MissingData(
                "timer:hrtimer_*",
                "no wakeup is dated by its timer: how late an interrupt came is not known",
            )
        )
    if seen.wakers[Waker.UNKNOWN]:
        missing.append(
            MissingData(
                f"the interrupt of {format_count(seen.wakers[Waker.UNKNOWN])} wakeups",
                "due is when they were woken: what came before is not in the latency",
            )
        )
    if not seen.any_of("timer_latency", "sample_threshold"):
        missing.append(
            MissingData(
                "the return to user space", "a wakeup ends when the CPU is given to the thread"
            )
        )
    if seen.rounded:
        missing.append(
            MissingData(
                "nanoseconds",
                "times are rounded down to microseconds (trace-cmd report -t and "
                "perf script --ns print them)",
            )
        )
    return missing
