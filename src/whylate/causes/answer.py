"""From a recording to the answer: which activations were late, and where their time went."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylate.causes.episodes import (
    corrected,
    group_overlapping,
    merge_episodes,
    usual_of,
)
from whylate.causes.families import Families, find_families
from whylate.causes.observability import (
    EXECUTION_NEEDS,
    NEEDS,
    Observability,
    list_observability,
    untimed_switch_hooks,
)
from whylate.causes.population import (
    Breakdown,
    NoExcessError,
    Population,
    locate_shares,
    recorded,
)
from whylate.causes.thread_names import ThreadNames
from whylate.causes.timing import Timing, find_timings
from whylate.causes.window.executions import cut_execution
from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window, stack_after_ns
from whylate.recording.events import Window
from whylate.recording.manifest import Fact, Manifest
from whylate.recording.reader import Recording
from whylate.recording.recorder.windows import checked_windows, count_controls, read_windows
from whylate.recording.samples import Activations
from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.run.values import Values
from whylate.summary.facts import takes_turns
from whylate.wire.constants import LATE_PER_S

#: Late are the slowest of so many, unless a threshold was given.
TAIL_OF = 1000
#: No more are looked at one by one: memory.
MOST_LATE = 50_000
#: Nor of control activations: as many show what is usual.
MOST_CONTROLS = 25_000
#: Fewer late episodes say little of what the next ones will be.
FEW_EPISODES = 10
#: Detail of `outside the traced kernel` where the CPUs take turns in the emulator.
EMULATORS_TURN = "the emulator's turn of another CPU"
_IDLE_EXIT = re.compile(r"state(\d{1,2}) .*: (\d{1,9}) us, ")


@dataclass(frozen=True)
class TracedActivation:
    """A recorded activation: its breakdown and its window of events.

    thread: of a watched program or an execution, which thread it was; None of another workload.
    """

    breakdown: Breakdown
    window: Window
    thread: str | None = None
    is_execution: bool = False


@dataclass(frozen=True)
class Answer:
    """Why a run's late activations were late.

    threshold_ns: above it an activation counts as late. population None: none was, or nothing
    was recorded; then `why_not` has the reason. worst: the worst recorded
    episodes, the worst first. families: what late episodes have in common. between: activations
    that were recorded as late and are not above a threshold that was asked for now: they are not
    among the control activations either, which the recorder drew from those that were not late.
    detached: late activations while the recorder was detached, by design: they are in no share.
    counted, quantity: what a row is of, "activations" or "executions", and what is measured of it.
    observability: which causes could be named on the board. timings: when each significant cause
    acts.
    """

    threshold_ns: int
    threshold_name: str
    population: Population | None
    worst: list[TracedActivation]
    why_not: str | None = None
    families: Families | None = None
    between: int = 0
    detached: int = 0
    observability: tuple[Observability, ...] = ()
    timings: tuple[Timing, ...] = ()
    counted: str = "activations"
    quantity: str = "latency"

    @property
    def is_of_executions(self) -> bool:
        """Whether rows are executions, which begin and end, and are never due."""
        return self.counted == "executions"


def explain_recording(
    recording: Recording, *, threshold_ns: int | None = None, worst: int = 5
) -> Answer:
    """Return the answer for a recording, as answer() does; raises RecordingError.

    Of a long recording not all windows are read: those of late activations are, and of as many
    control activations as MOST_CONTROLS, evenly over the run.
    """
    manifest, report = recording.manifest, recording.manifest.recorder
    late = _find_late(manifest, recording.series, threshold_ns)
    if report is not None and report.engine is not None and not _why_not(manifest, late):
        every = -(-count_controls(recording.directory) // MOST_CONTROLS)
        wanted = _WantedWindows(late.by_key, max(1, every))
        windows = checked_windows(recording.directory, manifest, wanted)
        answer = _explain_late(manifest, late, windows, threshold_ns, worst, wanted)
    else:
        answer = _explain_late(manifest, late, (), threshold_ns, worst)
    needs = EXECUTION_NEEDS if manifest.plan.has_parts else NEEDS
    observability = tuple(list_observability(report, manifest.facts, needs))
    return _worded(replace(answer, observability=observability), manifest)


def _worded(answer: Answer, manifest: Manifest) -> Answer:
    """Return an answer with what its rows are of."""
    plan = manifest.plan.activations
    if plan is None:
        return answer
    return replace(answer, counted=plan.counted, quantity=plan.quantity)


class _WantedWindows:
    """Chooses the windows that are read: those of late activations, and one in `every` of controls.

    neither: how many others there were.
    """

    def __init__(self, late: Mapping[tuple[int, int], object], every: int) -> None:
        self._late = np.sort(_keys(*np.array(list(late), np.int64).reshape(-1, 2).T))
        self._every = every
        self._controls = 0
        self.neither = 0

    def __call__(self, cpu: Int64s, activation: Int64s, control: Bools) -> Bools:
        """Return which of the next windows are wanted."""
        late = np.isin(_keys(cpu, activation), self._late)
        controls = control & ~late
        number = self._controls + np.cumsum(controls) - 1
        self._controls += int(np.count_nonzero(controls))
        self.neither += int(np.count_nonzero(~(late | control)))
        wanted: Bools = late | (controls & (number % self._every == 0))
        return wanted


def _keys(cpu: Int64s, activation: Int64s) -> Int64s:
    """Return a number for each activation; two may have the same, and one always has its own."""
    return activation * (1 << 16) + cpu


def read_activations(recording: Recording) -> Iterator[TracedActivation]:
    """Yield all recorded activations, late and control, in order; raises RecordingError."""
    report = recording.manifest.recorder
    if report is None or report.engine is None:
        return
    accounting = _Accounting(recording.manifest)
    control: list[Breakdown] = []
    for window in checked_windows(recording.directory, recording.manifest):
        breakdown = accounting.trace(window).breakdown
        if window.reason == "control":
            control.append(breakdown)
        else:
            accounting.threads.add(breakdown)
    usual = usual_of(control)
    for window in read_windows(recording.directory):
        example = accounting.trace(window)
        breakdown = accounting.threads.named(corrected(example.breakdown, usual))
        yield replace(example, breakdown=breakdown)


def explain(
    manifest: Manifest,
    samples: Sequence[Activations],
    windows: Iterable[Window],
    *,
    threshold_ns: int | None = None,
    worst: int = 5,
) -> Answer:
    """Return the answer for one run.

    threshold_ns None: what the run was recorded with, what ended it, or what the slowest thousandth
    of the activations that were seen is above. An activation that came due during another's stall
    belongs to that one's episode and its time is not counted again.
    """
    late = _find_late(manifest, samples, threshold_ns)
    return _worded(_explain_late(manifest, late, windows, threshold_ns, worst), manifest)


@dataclass(frozen=True)
class _Late:
    """Late activations by CPU and number, none of them with pieces; above what, and its name."""

    limit_ns: int
    name: str
    by_key: dict[tuple[int, int], Breakdown]
    #: Late while the recorder was detached.
    detached: int = 0


def _find_late(
    manifest: Manifest, samples: Sequence[Activations], threshold_ns: int | None
) -> _Late:
    report = manifest.recorder
    # One stall is one episode, however many activations came due in it.
    seen = merge_ordered([sort_series(cpu) for cpu in samples]).known
    limit, name = _bounded(seen, *_threshold(manifest, seen, threshold_ns))
    late = {}
    detached = 0
    for cpu in samples:
        for activation, due_ns, latency_ns in _late(cpu, limit):
            if report is not None and report.hides(due_ns, due_ns + latency_ns):
                # By design there is no window of it. The blocks were drawn at random, so that the
                # others stand for the whole run.
                detached += 1
                continue
            breakdown = Breakdown(cpu.cpu, activation, due_ns, latency_ns, None)
            late[cpu.cpu, activation] = breakdown
    return _Late(limit, name, late, detached)


def _explain_late(
    manifest: Manifest,
    those: _Late,
    windows: Iterable[Window],
    threshold_ns: int | None,
    worst: int,
    wanted: _WantedWindows | None = None,
) -> Answer:
    """Return the answer; wanted: what chose the windows, None: all are there."""
    limit, name, late = those.limit_ns, those.name, those.by_key
    if (why_not := _why_not(manifest, those)) is not None:
        return Answer(limit, name, None, [], why_not, detached=those.detached)
    accounting = _Accounting(manifest)
    control: list[Breakdown] = []
    alone = [[each] for each in late.values()] if manifest.plan.has_parts else None
    slowest = _Worst(alone or group_overlapping(late.values()), worst)
    between = 0
    for window in windows:
        key = window.cpu, window.activation
        if key not in late and window.reason != "control":
            # It was among the slowest when it came, and is not by the last count.
            between += threshold_ns is not None
            continue
        example = accounting.trace(window)
        if key in late:
            late[key] = example.breakdown
            accounting.threads.add(example.breakdown)
            slowest.add(example)
        else:
            control.append(example.breakdown)
    if threshold_ns is not None and wanted is not None:
        between += wanted.neither
    examples = slowest.sorted()
    usual = usual_of(control)
    named = accounting.threads.named
    their = [named(corrected(activation.breakdown, usual)) for activation in examples]
    each = [named(corrected(activation, usual)) for activation in late.values()]
    control = [named(corrected(activation, usual)) for activation in control]
    # Executions of various threads overlap while these sleep: each is its own.
    late_episodes = each if manifest.plan.has_parts else merge_episodes(each)
    span = (
        min(account.start_ns for account in manifest.cpus),
        max(account.end_ns for account in manifest.cpus),
    )
    answer = explain_episodes(limit, name, late_episodes, control, span)
    significant = answer.population.significant if answer.population is not None else []
    keys = [(share.cause, share.detail) for share in significant]
    activations = manifest.plan.activations
    interval_ns = activations.interval_ns if activations is not None else 0
    return replace(
        answer,
        timings=find_timings(late_episodes, keys, span, interval_ns),
        worst=[
            replace(activation, breakdown=its)
            for activation, its in zip(examples, their, strict=True)
        ],
        families=find_families(late_episodes, control),
        between=between,
        detached=those.detached,
    )


def explain_episodes(
    limit_ns: int,
    name: str,
    late: Sequence[Breakdown],
    control: Sequence[Breakdown],
    span: tuple[int, int],
) -> Answer:
    """Return the answer for late episodes and control activations that were due in [start, end).

    Without worst episodes and families. late: at least one.
    """
    try:
        return Answer(limit_ns, name, locate_shares(late, control, *span), [])
    except NoExcessError:
        why_not = "late activations took no longer than control activations: nothing to explain"
        return Answer(limit_ns, name, None, [], why_not)


def unexplained_share(answer: Answer) -> tuple[float, float]:
    """Return the unexplained part of the tail's excess, and the 95th percentile over episodes.

    The latter is of the part of each recorded episode's latency, of as many as the answer has
    examples: ask explain_recording() for all. Both are 0 where nothing was late.
    """
    if answer.population is None:
        return 0.0, 0.0
    share = sum(
        share.share for share in answer.population.causes if share.cause is Cause.UNEXPLAINED
    )
    parts = [
        sum(
            piece.length_ns
            for piece in example.breakdown.pieces
            if piece.cause is Cause.UNEXPLAINED
        )
        / max(example.breakdown.latency_ns, 1)
        for example in answer.worst
        if example.breakdown.pieces is not None
    ]
    return share, float(np.quantile(parts, 0.95)) if parts else 0.0


class _Worst:
    """Keeps the worst episodes: of each, the activation with the longest latency."""

    def __init__(self, episodes: Iterable[Sequence[Breakdown]], most: int) -> None:
        self._most = most
        self._episode = {
            (activation.cpu, activation.activation): number
            for number, together in enumerate(episodes)
            for activation in together
        }
        self._kept: dict[int, TracedActivation] = {}

    def add(self, example: TracedActivation) -> None:
        """Keep a late activation if it is among the worst."""
        breakdown = example.breakdown
        number = self._episode[breakdown.cpu, breakdown.activation]
        kept = self._kept.get(number)
        if kept is not None and kept.breakdown.latency_ns >= breakdown.latency_ns:
            return
        self._kept[number] = example
        if len(self._kept) > self._most:
            least = min(self._kept, key=lambda which: self._kept[which].breakdown.latency_ns)
            del self._kept[least]

    def sorted(self) -> list[TracedActivation]:
        """Return them, the worst first."""
        return sorted(self._kept.values(), key=lambda example: -example.breakdown.latency_ns)


def _threshold(manifest: Manifest, seen: Values, asked: int | None) -> tuple[int, str]:
    """Return above what an activation is late, and what that is called."""
    plan = manifest.plan.recorder
    if asked is None and plan is not None:
        asked = plan.threshold_ns
    if asked is not None:
        return asked, "as asked for"
    if not seen.n:
        return 0, "the slowest thousandth"
    if (
        plan is not None
        and plan.stop_above_ns is not None
        and seen.at(seen.n - 1) > plan.stop_above_ns
    ):
        return plan.stop_above_ns, "which ended the run"
    # So many may lie above it: the slowest thousandth, and at least one.
    tail_of = _tail_of(manifest)
    rank = seen.n - max(1, seen.n // tail_of) - 1
    name = "the slowest thousandth" if tail_of == TAIL_OF else f"the slowest of {tail_of:,}"
    return (seen.at(rank) if rank >= 0 else 0), name


def _tail_of(manifest: Manifest) -> int:
    """Return of how many activations the slowest is late.

    Executions may come so fast that fewer than twice the slowest thousandth were recorded: by
    their rate before the run, as the probe has it.
    """
    section = manifest.section
    if section is None or not section.tried_ns:
        return TAIL_OF
    per_s = section.tried * 1_000_000_000 / section.tried_ns / max(section.one_in, 1)
    return max(TAIL_OF, round(2 * per_s / LATE_PER_S))


def _bounded(seen: Values, limit_ns: int, name: str) -> tuple[int, str]:
    """Return a limit that at most MOST_LATE are above, and what it is called."""
    if seen.n - seen.count_below(limit_ns + 1) <= MOST_LATE:
        return limit_ns, name
    limit_ns = seen.at(seen.n - MOST_LATE - 1)
    slowest = seen.n - seen.count_below(limit_ns + 1)
    return limit_ns, f"the slowest {slowest:,}: more are above what was asked"


def _late(samples: Activations, limit_ns: int) -> Iterable[tuple[int, int, int]]:
    """Return number, due time and latency of the late activations."""
    rows, latency_ns, overrun = samples.exceeding(limit_ns)
    rows, latency_ns = rows[~overrun], latency_ns[~overrun]
    columns = samples.activation_of(rows), samples.due_of(rows), latency_ns
    return zip(*(column.tolist() for column in columns), strict=True)


class _Accounting:
    """Cuts the windows of a run into pieces, with the facts of its board."""

    def __init__(self, manifest: Manifest) -> None:
        plan = manifest.plan.recorder
        self._idle_exit_ns = _idle_exits(manifest.facts)
        self._stacks_after_ns = stack_after_ns(plan.threshold_ns if plan is not None else None)
        self._takes_turns = takes_turns(manifest)
        self._are_executions = manifest.plan.has_parts
        self._thread = _threads(manifest)
        self.threads = ThreadNames(manifest.tasks)
        # tracefs adds up what it reads: what its ring lost is in no sum.
        recorder = manifest.recorder
        self._sums = recorder is not None and recorder.engine == "bpf"
        self._untimed_hooks = untimed_switch_hooks(recorder)

    def trace(self, window: Window) -> TracedActivation:
        """Cut the window of one activation into pieces, whose threads have no final names yet."""
        if not self._sums:
            window = replace(window, sums=())
        marked = self.threads.marked(window)
        pieces = tuple(
            cut_execution(marked, self._untimed_hooks)
            if self._are_executions
            else cut_window(marked, self._idle_exit_ns, self._stacks_after_ns, self._untimed_hooks)
        )
        if self._takes_turns:
            pieces = tuple(
                replace(piece, detail=EMULATORS_TURN) if piece.cause is Cause.OUTSIDE else piece
                for piece in pieces
            )
        breakdown = Breakdown(
            window.cpu,
            window.activation,
            window.due_ns,
            window.latency_ns,
            recorded(pieces),
        )
        return TracedActivation(
            breakdown, window, self._thread(window.pid), is_execution=self._are_executions
        )


def _threads(manifest: Manifest) -> Callable[[int], str | None]:
    """Return what names a thread that is not the probe's by its pid: "jackd/312"."""
    if manifest.plan.target is None and not manifest.plan.has_parts:
        return lambda _: None
    names = {thread.pid: thread.name for thread in manifest.threads}
    return lambda pid: f"{names[pid]}/{pid}" if pid in names else f"pid {pid}"


def _idle_exits(facts: Sequence[Fact]) -> dict[int, int]:
    """Return the declared exit latency of each idle state, ns."""
    for fact in facts:
        if fact.name == "idle_states" and isinstance(fact.value, list):
            matches = [_IDLE_EXIT.match(str(line)) for line in fact.value]
            return {int(m[1]): int(m[2]) * 1000 for m in matches if m is not None}
    return {}


def _why_not(manifest: Manifest, late: _Late) -> str | None:
    report = manifest.recorder
    if report is None and manifest.plan.has_parts:
        return (
            "no windows were recorded of these executions: measure again with --recorder best; "
            "whylate report has the classes of those that took longer"
        )
    if report is None:
        return (
            "nothing was recorded beside the samples (--no-recorder, or a recording of an older "
            "whylate): measure again without it"
        )
    if report.engine is None:
        return f"nothing could be recorded on this board: {report.refused or 'it did not say why'}"
    if not late.by_key and late.detached:
        return (
            f"all {late.detached} late activations came while the recorder was detached: measure "
            "longer, or with --no-detach"
        )
    if not late.by_key:
        counted = manifest.plan.activations.counted if manifest.plan.activations else "activations"
        return f"no {counted.removesuffix('s')} was late: there is nothing to explain"
    return None
