"""Missing data of a trace, and its consequences for the answer."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.causes.traces.auto_analyses import contradicts
from whylate.causes.traces.trace_pieces import lacks_interrupts, lacks_softirqs
from whylate.quantities import format_count, format_short_ns
from whylate.recording.activation import Waker
from whylate.recording.traces.latency import LatencyTrace
from whylate.recording.traces.read import TraceRead
from whylate.recording.traces.seen import Seen


@dataclass(frozen=True)
class MissingData:
    """what: is missing or damaged; so: what follows from that for the answer."""

    what: str
    so: str


def _select(*rows: tuple[object, str, str]) -> list[MissingData]:
    """Return what applies, out of rows of: whether it does, what is missing, what follows."""
    return [MissingData(what, so) for applies, what, so in rows if applies]


def list_missing_data(seen: Seen) -> list[MissingData]:
    """Return what a trace of events lacks, the gravest first."""
    return [*_lines(seen), *_lost(seen), *_missing(seen), *_dates(seen)]


def list_missing_latency_data(traces: tuple[LatencyTrace, ...], seen: Seen) -> list[MissingData]:
    """Return what the traces of a latency tracer lack."""
    left_out = sum(trace.left_out for trace in traces)
    missing = sum(trace.missing for trace in traces)
    return _lines(seen) + _select(
        (
            True,
            "control activations",
            "each trace has the longest episode alone: nothing to compare with",
        ),
        (
            missing > 0,
            f"{format_count(missing)} lines that the header counts",
            "the text was shortened: where they were is not observed",
        ),
        (left_out > 0, f"{format_count(left_out)} lines", "overwritten in the kernel's buffer"),
        (
            any(trace.tracer.startswith("wakeup") for trace in traces),
            "how late the timer came",
            "the wakeup tracers begin at the waking: what held the interrupt off is not in it",
        ),
        (
            any(trace.tracer == "irqsoff" for trace in traces),
            "who waited",
            "an irqsoff section may have made nobody late",
        ),
    )


def list_missing_analysis_data(read: TraceRead) -> list[MissingData]:
    """Return what rtla's auto-analyses lack."""
    analyses = read.analyses
    threads = sorted({
        analysis.blocked_by[0]
        for analysis in analyses
        if analysis.blocking_ns and analysis.blocked_by is not None and analysis.blocked_by[1]
    })  # fmt: skip
    contradictory = sum(contradicts(analysis) for analysis in analyses)
    return _select(
        (
            True,
            "control activations",
            "rtla analyses those that stopped it alone: nothing to compare with",
        ),
        (
            read.unended,
            f"the end of {format_count(read.unended)} analyses",
            "without the latency they were left out",
        ),
        (
            contradictory,
            f"parts that fit, in {format_count(contradictory)} analyses",
            "they sum to more than the latency: not observed",
        ),
        (
            any(analysis.cpu < 0 for analysis in analyses),
            "the CPU",
            "an analysis without its title is shown on CPU 0",
        ),
        (
            any(analysis.from_idle for analysis in analyses),
            "exit latencies of idle states",
            (
                "rtla calls a late interrupt of an idle CPU exit from idle: what firmware or a "
                "hypervisor took is in it"
            ),
        ),
        (
            any(analysis.previous_ns for analysis in analyses),
            "how long an earlier interrupt delayed the timer's",
            "rtla prints how long that took in all: as much of the delay is unexplained",
        ),
        (
            bool(threads),
            f"why {', '.join(threads[:4])} kept the CPU",
            (
                "preemption disabled or a higher priority: rtla prints no stack of the switch and "
                "no priorities; `whylate explain --import timerlat_trace.txt` may have them"
            ),
        ),
        (
            any(analysis.by_irq for analysis in analyses),
            "how long the interrupt's own handler took",
            "the interrupt's latency stopped rtla: that counts to what came before",
        ),
        (
            not all(analysis.by_irq for analysis in analyses),
            "the scheduler's own time",
            "rtla does not print it: the rest of the latency is not observed",
        ),
    )


def _lines(seen: Seen) -> list[MissingData]:
    return _select(
        (seen.torn, "the end of the last line", "the file was cut; what precedes was used"),
        (
            seen.odd,
            f"{format_count(seen.odd)} lines that were not understood",
            f"the first is line {format_count(seen.odd_line)}; they were left out",
        ),
    )


def _lost(seen: Seen) -> list[MissingData]:
    steps = (
        f"one clock: that of CPU {seen.backwards_cpu} goes back by "
        f"{format_short_ns(seen.backwards_ns)} at line {format_count(seen.backwards_line)}"
    )
    if seen.backwards > 1:
        steps += f", and {format_count(seen.backwards - 1)} times more"
    losses = seen.losses - seen.backwards
    lost = f"{format_count(seen.lost)} events" if seen.lost else "events"
    before = 0 if seen.buffered is None else (seen.written or 0) - seen.buffered
    there = f"there are {seen.header_cpus}" if seen.header_cpus else "there are at most 4,096"
    return _select(
        (seen.backwards, steps, "nothing was taken to go on across such a step: not observed"),
        (
            seen.impossible,
            f"CPU {seen.impossible_cpu}: {there}",
            f"{format_count(seen.impossible)} events of CPUs that are not there were left out",
        ),
        (
            losses > 0,
            f"{lost} that were lost in {format_count(losses)} places",
            "the time there was not observed; wakeups that it cuts are not counted",
        ),
        (
            before > 0,
            f"{format_count(before)} events before the first one",
            "the buffer was written over: the trace has the end of the run alone",
        ),
    )


def _missing(seen: Seen) -> list[MissingData]:
    unswitched = seen.any_of("timer_latency", "sample_threshold") and not seen.any_of(
        "sched_switch"
    )
    by_noise = seen.any_of("thread_noise")
    no_interrupts = lacks_interrupts(seen)
    bare = seen.bare_timers and any(name.endswith("irq_handler_entry") for name in seen.events)
    return _select(
        (
            unswitched and not by_noise,
            "sched_switch, osnoise:thread_noise",
            (
                "only who had the CPU when the timer's interrupt came is known: other threads "
                "are unexplained"
            ),
        ),
        (
            unswitched and by_noise,
            "priorities",
            "a thread that ran instead counts as higher-priority, unless it had been interrupted",
        ),
        (
            seen.without_waking,
            "sched_waking",
            "taken at sched_wakeup: what a call to the other CPU took counts as before it",
        ),
        (
            seen.unswitched,
            (
                f"the switch to the thread in {format_count(seen.unswitched)} wakeups, the first "
                f"on CPU {seen.unswitched_cpu}"
            ),
            "not counted (some kernels do not trace switches from the idle thread)",
        ),
        (
            no_interrupts and bare,
            "irq_vectors:*",
            (
                "the local timer's interrupts and calls between CPUs count as what "
                "they interrupt; where nothing else was seen, it is unexplained"
            ),
        ),
        (
            no_interrupts and not bare,
            "irq:irq_handler_*, irq_vectors:*",
            (
                "interrupts count as what they interrupt, and disabled "
                "interrupts are not visible; without other evidence time is unexplained"
            ),
        ),
        (lacks_softirqs(seen), "irq:softirq_*", "softirqs count as the thread that they interrupt"),
        (
            not seen.any_of("contention_begin"),
            "lock:contention_*",
            "waiting for a lock counts as the context that waits",
        ),
        (
            seen.idled and not seen.any_of("cpu_idle"),
            "power:cpu_idle",
            "leaving an idle state counts as idling",
        ),
        (
            True,
            "exit latencies of idle states, steal time",
            "late idle exit and what a hypervisor took are unexplained",
        ),
    )


def _dates(seen: Seen) -> list[MissingData]:
    return _select(
        (
            seen.undated,
            f"timer:hrtimer_start of {format_count(seen.undated)} timers",
            "due counts from the interrupt: how late that came is not known",
        ),
        (
            not (seen.undated or seen.wakers[Waker.TIMER] or seen.traced),
            "timer:hrtimer_*",
            "no wakeup is dated by its timer: how late an interrupt came is not known",
        ),
        (
            seen.wakers[Waker.UNKNOWN],
            f"the interrupt of {format_count(seen.wakers[Waker.UNKNOWN])} wakeups",
            "due is when they were woken: what came before is not in the latency",
        ),
        (
            not seen.any_of("timer_latency", "sample_threshold"),
            "the return to user space",
            "a wakeup ends when the CPU is given to the thread",
        ),
        (
            seen.rounded,
            "nanoseconds",
            (
                "times are rounded down to microseconds (trace-cmd report -t and "
                "perf script --ns print them)"
            ),
        ),
    )
