"""The account of rtla's auto-analysis: its parts by whylate's names, and the rest not observed.

| part | cause |
|---|---|
| IRQ handler delay, from idle | idle exit, as rtla says |
| IRQ handler delay | interrupts disabled, by the stack at the interrupt (1); else unexplained |
| of it, an earlier interrupt | unexplained: rtla has only how long that took at most |
| Timerlat IRQ duration | interrupt |
| Blocking thread | scheduling from the idle thread; else unexplained (2) |
| NMI, IRQ, Softirq, Thread interference | nmi, interrupt, softirq, thread |
| the rest of the latency | not observed |

(1) As for any trace (whylate.causes.window.pieces): only where the interrupted function does
nothing but unlock and enable interrupts.
(2) It ran on after the interrupt that woke timerlat: preemption was disabled in it, or it comes
first. rtla has neither the stack at its switch nor a priority.

Where the interrupt's latency stopped the trace (-i), all of that is the delay. Parts that sum to
more than the latency contradict it: then the whole is not observed.
"""

from __future__ import annotations

from collections.abc import Sequence

from whylate.causes.answer import Answer
from whylate.causes.population import Breakdown, recorded
from whylate.causes.traces.latency_traces import explain_without_windows
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.stacks import OF_UNLOCKING, innermost_function
from whylate.causes.window.timeline import join_adjoining
from whylate.recording.events import Kind
from whylate.recording.traces.auto_analysis import KINDS, AutoAnalysis
from whylate.recording.traces.stacks import stack_event

#: What the timer's own interrupt is called, of which rtla prints no name.
TIMER = "timerlat's timer"
#: The detail of an idle exit for which rtla alone vouches.
BY_RTLA = "by rtla"
#: What a part and the latency may each be off by: both are cut to two decimals of a µs.
_CUT_NS = 10

_CAUSES = dict(zip(KINDS, (Cause.NMI, Cause.INTERRUPT, Cause.SOFTIRQ, Cause.THREAD), strict=True))
_Part = tuple[int, Cause, str, Stage]


def explain_auto_analyses(analyses: Sequence[AutoAnalysis], worst: int) -> Answer:
    """Return the answer for the analyses of a file; there is no body to compare them with."""
    breakdown = [
        Breakdown(max(analysis.cpu, 0), number, 0, analysis.latency_ns,
                  recorded(tuple(cut_analysis(analysis))))
        for number, analysis in enumerate(analyses)
    ]  # fmt: skip
    return explain_without_windows("which stopped rtla", breakdown, worst)


def cut_analysis(analysis: AutoAnalysis) -> list[Piece]:
    """Cut an activation into pieces in the order of rtla's parts; they sum to its latency.

    The interference after the timer's interrupt has no places: it stands behind the blocking
    thread, by kind.
    """
    if contradicts(analysis):
        return [Piece(0, analysis.latency_ns, Cause.NOT_OBSERVED)]
    pieces: list[Piece] = []
    at = 0
    for length_ns, cause, detail, stage in _parts(analysis):
        end = min(at + length_ns, analysis.latency_ns)
        if end > at:
            pieces.append(Piece(at, end, cause, detail, stage))
        at = end
    if at < analysis.latency_ns:
        pieces.append(Piece(at, analysis.latency_ns, Cause.NOT_OBSERVED, "", Stage.RUNNABLE))
    return join_adjoining(pieces)


def contradicts(analysis: AutoAnalysis) -> bool:
    """Whether its parts sum to more than the latency, beyond what printing them may add."""
    lengths_ns = [part[0] for part in _parts(analysis)]
    return sum(lengths_ns) > analysis.latency_ns + _CUT_NS * (len(lengths_ns) + 1)


def _parts(analysis: AutoAnalysis) -> list[_Part]:
    return _parts_by_irq(analysis) if analysis.by_irq else _parts_by_thread(analysis)


def _parts_by_irq(analysis: AutoAnalysis) -> list[_Part]:
    nmi_ns = min(analysis.sums_ns.get("NMI", 0), analysis.latency_ns)
    return [
        (analysis.latency_ns - nmi_ns, *_held_off(analysis), Stage.PENDING),
        (nmi_ns, Cause.NMI, "", Stage.PENDING),
    ]


def _parts_by_thread(analysis: AutoAnalysis) -> list[_Part]:
    delay_ns = analysis.delay_ns or 0
    earlier_ns = min(analysis.previous_ns or 0, delay_ns)
    from_idle = Cause.IDLE_EXIT, BY_RTLA
    held_off = from_idle if analysis.from_idle else _held_off(analysis)
    parts: list[_Part] = [
        (earlier_ns, Cause.UNEXPLAINED, "or an earlier interrupt", Stage.PENDING),
        (delay_ns - earlier_ns, *held_off, Stage.PENDING),
        (analysis.timer_ns or 0, Cause.INTERRUPT, TIMER, Stage.WAKING),
        (analysis.blocking_ns or 0, *_blocking(analysis), Stage.RUNNABLE),
    ]
    for kind, cause in _CAUSES.items():
        of_kind = [part for part in analysis.parts if part.kind == kind]
        unnamed = analysis.sums_ns.get(kind, 0) - sum(part.length_ns for part in of_kind)
        if unnamed < -_CUT_NS * (len(of_kind) + 1):
            # They are not what the sum is of.
            of_kind, unnamed = [], analysis.sums_ns.get(kind, 0)
        parts += [(part.length_ns, cause, part.name, Stage.RUNNABLE) for part in of_kind]
        parts.append((max(unnamed, 0), cause, "", Stage.RUNNABLE))
    return parts


def _held_off(analysis: AutoAnalysis) -> tuple[Cause, str]:
    """Name what kept the timer's interrupt from coming."""
    task = analysis.blocked_by
    if task is None or task[1] == 0:
        return Cause.UNEXPLAINED, "while idle" if task is not None else ""
    event = stack_event(0, 0, Kind.TIMER_ENTRY, list(analysis.stack))
    if event is None or not event.enabled:
        return Cause.UNEXPLAINED, f"in {task[0]}"
    function = innermost_function(event.stack, OF_UNLOCKING)
    place = "" if function in OF_UNLOCKING else f"{function} "
    return Cause.INTERRUPTS_DISABLED, f"{place}in {task[0]}"


def _blocking(analysis: AutoAnalysis) -> tuple[Cause, str]:
    task = analysis.blocked_by
    if task is not None and task[1] == 0:
        return Cause.SCHEDULING, "from idle"
    return Cause.UNEXPLAINED, f"in {task[0]}" if task is not None else ""
