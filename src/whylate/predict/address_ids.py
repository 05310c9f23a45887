"""What another policy of ids for address spaces would flush, from a trace of switches."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import msgspec

from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.recording.store.switch_traces import read_switch_traces
from whylate.recording.traces.address_spaces import SpaceTrace, read_address_spaces
from whylate.recording.workloads.point_names import point_names
from whylate.stats.address_ids import (
    X86_IDS,
    Flushes,
    Trace,
    simulate_generations,
    simulate_in_turn,
    simulate_least_recent,
)
from whylate.stats.id_policies import Policy

#: What each supposes.
SUPPOSES: dict[Policy, str] = {
    "in-turn": "each CPU gives its ids in turn, as Linux on x86",
    "lru": "each CPU gives away the id that it has not used for longest",
    "generations": "all CPUs share the ids, and flush when these are used up, as Linux on arm64; "
    "changes of translations are broadcast to all CPUs and cost no flush at a switch",
}
_ALWAYS = (
    "the order of switches stays as it is, though fewer flushes make them faster",
    "ids given before the trace are not known: the least supposes that nobody lost its own by it",
)
_SIMULATE: dict[Policy, Callable[[Trace, int], Flushes]] = {
    "in-turn": simulate_in_turn,
    "lru": simulate_least_recent,
    "generations": lambda trace, ids: simulate_generations(trace, ids.bit_length() - 1),
}


class PolicyFlushes(msgspec.Struct, frozen=True):
    """Flushes at the switches of a trace under a policy.

    ids: on each CPU; of generations for all together. flushes: with ids that nobody had before the
    trace, the most; least: where each was had by whom it is given to. outdated: of the flushes,
    those for translations that another CPU had changed. rollovers: of generations.
    """

    policy: Policy
    ids: int
    flushes: int
    least: int
    per_switch: float
    outdated: int
    rollovers: int


class Check(msgspec.Struct, frozen=True):
    """The kernel's own policy simulated, beside what it did: flushes that were counted.

    off: (simulated - counted) / counted, of the nearest between least and flushes; null where none
    was counted.
    """

    counted: int
    simulated: PolicyFlushes
    off: float | None


class Unsimulated(msgspec.Struct, frozen=True):
    """A number of ids that a policy cannot have, and why."""

    policy: Policy
    ids: int
    reason: str


class AddressIds(msgspec.Struct, frozen=True):
    """What `whylate predict asid` prints.

    switches: between address spaces. threads: switches of threads. spaces: address spaces.
    reasons: flushes of the trace by reason. check: null where the kernel reports no flushes.
    """

    trace: str
    seconds: float
    threads: int
    switches: int
    spaces: int
    reasons: dict[str, int]
    check: Check | None
    policies: list[PolicyFlushes]
    no_model: list[Unsimulated]
    supposes: list[str]
    unread: int
    turns: int = 1


class RecordedIds(msgspec.Struct, frozen=True):
    """What `whylate predict asid` prints of a recording.

    points: of the benchmark, each with all of its turns; trace: the point's name.
    """

    recording: str
    points: list[AddressIds]


def predict_recorded(
    recording: Recording, ids: Sequence[int], policies: Sequence[Policy]
) -> RecordedIds:
    """Simulate policies on the traces of a benchmark's turns; raises RecordingError.

    In each turn the tasks are new, so that each is simulated by itself.
    """
    benchmark = recording.manifest.plan.benchmark
    if benchmark is None:
        raise LackingError(f"{recording.directory} has no trace of switches: it is no benchmark")
    traces = read_switch_traces(recording.directory, len(benchmark.order))
    of_points: dict[str, list[AddressIds]] = {}
    names = point_names(benchmark.points)
    for turn, lines in sorted(traces.items()):
        if not lines:
            continue
        name = names[benchmark.order[turn]]
        spaces = read_address_spaces(io.BytesIO(lines), f"turn {turn} of {recording.directory}")
        of_points.setdefault(name, []).append(predict_flushes(name, spaces, ids, policies))
    if not of_points:
        raise LackingError(
            f"{recording.directory} has an empty trace of switches: whylate report says why"
        )
    points = [_together(of_points[name]) for name in names if name in of_points]
    return RecordedIds(recording.directory.name, points)


def predict_flushes(
    name: str, spaces: SpaceTrace, ids: Sequence[int], policies: Sequence[Policy]
) -> AddressIds:
    """Simulate policies with numbers of ids; name: of the trace."""
    trace = Trace(spaces.time_ns, spaces.cpu, spaces.mm, spaces.changed, spaces.seen)
    real = _simulated(trace, "in-turn", X86_IDS)
    made, refused = [], []
    for policy in policies:
        for number in ids:
            try:
                made.append(_simulated(trace, policy, number))
            except ValueError as error:
                refused.append(Unsimulated(policy, number, str(error)))
    return AddressIds(
        trace=name,
        seconds=spaces.seconds,
        threads=spaces.threads,
        switches=sum(1 for _ in trace.switches()),
        spaces=spaces.spaces,
        reasons=spaces.reasons,
        check=None if spaces.flushed is None else _check(spaces.flushed, real),
        policies=made,
        no_model=refused,
        supposes=[*_ALWAYS, *(SUPPOSES[policy] for policy in policies), *_lacking(spaces)],
        unread=spaces.unread,
    )


def _together(turns: Sequence[AddressIds]) -> AddressIds:
    """Return the turns of a point together."""
    reasons: dict[str, int] = {}
    for turn in turns:
        for reason, number in turn.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + number
    switches = sum(turn.switches for turn in turns)
    checks = [turn.check for turn in turns if turn.check is not None]
    check = None
    if len(checks) == len(turns):
        simulated = _summed([part.simulated for part in checks], switches)
        check = _check(sum(part.counted for part in checks), simulated)
    return msgspec.structs.replace(
        turns[0],
        seconds=sum(turn.seconds for turn in turns),
        threads=sum(turn.threads for turn in turns),
        switches=switches,
        spaces=sum(turn.spaces for turn in turns),
        reasons=reasons,
        check=check,
        policies=[
            _summed(made, switches) for made in zip(*(turn.policies for turn in turns), strict=True)
        ],
        supposes=list(dict.fromkeys(text for turn in turns for text in turn.supposes)),
        unread=sum(turn.unread for turn in turns),
        turns=len(turns),
    )


def _summed(made: Sequence[PolicyFlushes], switches: int) -> PolicyFlushes:
    """Return what a policy does in several turns together."""
    flushes, least, outdated, rollovers = (
        sum(getattr(part, name) for part in made)
        for name in ("flushes", "least", "outdated", "rollovers")
    )
    per_switch = flushes / switches if switches else 0.0
    return PolicyFlushes(
        made[0].policy, made[0].ids, flushes, least, per_switch, outdated, rollovers
    )


def _lacking(spaces: SpaceTrace) -> list[str]:
    if spaces.flushed is not None:
        return []
    return ["without tlb_flush each process is an address space, and changes of it are not known"]


def _check(counted: int, simulated: PolicyFlushes) -> Check:
    nearest = min(max(counted, simulated.least), simulated.flushes)
    return Check(counted, simulated, (nearest - counted) / counted if counted else None)


def _simulated(trace: Trace, policy: Policy, ids: int) -> PolicyFlushes:
    """Simulate a policy; raises ValueError for a number of ids that it cannot have."""
    if policy == "generations" and ids.bit_count() != 1:
        raise ValueError(f"{ids} ids: generations have 2^bits of them, the kernel's among them")
    flushes = _SIMULATE[policy](trace, ids)
    return PolicyFlushes(
        policy=policy,
        ids=ids,
        flushes=flushes.flushes,
        least=flushes.flushes - flushes.cold,
        per_switch=flushes.flushes / flushes.switches if flushes.switches else 0.0,
        outdated=flushes.outdated,
        rollovers=flushes.rollovers,
    )
