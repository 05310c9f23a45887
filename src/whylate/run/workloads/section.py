"""Running the workload `section`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import msgspec

from whylate.recording.bounds import Small
from whylate.recording.plan import RunPlan, Setting
from whylate.recording.treatments import ARMING
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import (
    AnyPlace,
    Condition,
    Hook,
    KernelFunction,
    KernelPlaces,
    PlacesHook,
    Section,
    TracepointPair,
    UserCode,
)
from whylate.run.errors import RequestError
from whylate.run.knobs.files import threads_setting
from whylate.run.workloads.app import check_comm, check_pid
from whylate.run.workloads.counters import check_counters, resolve_counters
from whylate.run.workloads.rules import ActivationRules
from whylate.run.workloads.tables import Duration, WorkloadTable
from whylate.run.workloads.user_code import check_user_code, is_user_code, parse_user_code
from whylate.text import plain
from whylate.wire import messages
from whylate.wire.constants import (
    LONGEST_PLACE,
    MOST_CONDITIONS,
    MOST_EXECUTION_COUNTS,
    SectionGroups,
    SectionHook,
    SectionKey,
    SectionTreatment,
)
from whylate.wire.constants import SectionKind as Kind

_FUNCTION = re.compile(r"[A-Za-z_.][\w.]*")
_TRACEPOINT = re.compile(r"[A-Za-z_]\w*(:[A-Za-z_]\w*)?")
_KERNEL_PLACE = re.compile(
    r"0x[0-9a-fA-F]{1,16}|(?P<function>[A-Za-z_.][\w.]*)(\+(0x[0-9a-fA-F]{1,8}|\d{1,8}))?"
)
_ARGUMENT = re.compile(r"[A-Za-z_]\w*|\d{1,2}")
_CONDITION = re.compile(r"\s*(?P<argument>\w+)\s*==\s*(?P<value>-?\w+)\s*")
#: Of code by which executions are timed: a hook there would call itself, or stop the board.
_OWN = re.compile(
    r"bpf_|__bpf_|ktime_get|trace_call_bpf|perf_trace_run_bpf|kprobe|rethook|"
    r"arch_rethook|ftrace_|__x64_sys_bpf|__sys_bpf"
)
#: Of code that reads a stack or memory for the programs of the recorder, and of the section.
_OWN_READS = re.compile(
    r"copy_from_(kernel|user)_nofault|get_callchain_|get_perf_callchain|perf_callchain_|"
    r"arch_stack_walk|unwind_|stack_trace_"
)
_MOST_VALUE = 1 << 63


class SectionTable(WorkloadTable, rename={"duration": "for"}, kw_only=True):
    """[section]. place: as whylate section takes it; the others are its options."""

    place: str
    duration: Duration = Duration(20_000_000_000)
    comm: str | None = None
    hook: str = "best"
    one_in: Small | None = None
    counters: list[str] = msgspec.field(default_factory=list)

    def workload(self) -> Section:
        """Return the section; raises RequestError."""
        return Section(
            duration_ns=int(self.duration),
            place=parse_place(self.place, self.hook),
            comm=self.comm,
            one_in=self.one_in,
            counters=[CounterPlan(name) for name in self.counters],
        )


class SectionRules(ActivationRules):
    """Every execution of a piece of code."""

    table: ClassVar[type[WorkloadTable] | None] = SectionTable
    takes_cpus: ClassVar[bool] = False

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for a section that no board can time."""
        workload = plan.workload
        if not isinstance(workload, Section):
            return
        check_place(workload.place)
        if workload.comm is not None:
            check_comm(workload.comm)
        if workload.pid is not None:
            check_pid(workload.pid)
            if plan.virtual_time:
                raise RequestError(
                    "--pid names a running program, and in virtual time the board boots first: "
                    "use --comm NAME"
                )
        if plan.cpus is not None:
            raise RequestError("a section runs where its callers do: not with --cpus")
        if len(workload.counters) > MOST_EXECUTION_COUNTS:
            raise RequestError(
                f"--counters takes up to {MOST_EXECUTION_COUNTS} events of a section"
            )
        check_counters([counter.name for counter in workload.counters])
        super().check(plan)
        check_recorder(workload)
        check_experiment(workload)

    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Section:
        """Resolve the counters; raises RequestError."""
        del available
        workload: Any = plan.workload
        counters = resolve_counters(workload.counters, model)
        resolved: Section = msgspec.structs.replace(workload, counters=counters)
        return resolved

    def setting(self, workload: Section, knob: str, value: str) -> Setting | None:
        """Return the priority of the threads whose executions are timed; raises RequestError."""
        if knob != "priority":
            return None
        if workload.comm is None:
            raise RequestError(
                "knob priority: the section is of threads of any name: write priority:NAME = N"
            )
        return threads_setting(workload.comm, value)

    def repeat(self, workload: Section, duration_ns: int, recorder: RecorderPlan) -> Section:
        """Return the section with a recorder whose windows the probe chooses."""
        if workload.pid is not None:
            raise RequestError("--experiment repeats no run of --pid: its process may have ended")
        chosen = msgspec.structs.replace(recorder, tail_ppm=0, control_every=0)
        return msgspec.structs.replace(
            workload, duration_ns=duration_ns, recorder=chosen, locks=False, paths=False,
            samples=False,
        )  # fmt: skip

    def start(self, workload: Section, cpus: Sequence[int]) -> messages.Section:
        """Return the command that starts it."""
        del cpus
        place = workload.place
        pair = place if isinstance(place, TracepointPair) else None
        user = place if isinstance(place, UserCode) else None
        conditions = pair.conditions if pair is not None else []
        return messages.Section(
            duration_ns=workload.duration_ns,
            spool=int(workload.spool),
            kind=Kind.USER if user else Kind.TRACEPOINTS if pair else Kind.FUNCTION,
            begin=place.function if isinstance(place, KernelFunction) else place.begin,
            end="" if isinstance(place, KernelFunction) else place.end,
            hook=_hook_of(place),
            key=SectionKey[pair.key.upper()] if pair is not None else SectionKey.THREAD,
            begin_argument=pair.begin_argument if pair is not None else "",
            end_argument=pair.end_argument if pair is not None else "",
            arguments=tuple(condition.argument for condition in conditions),
            values=tuple(condition.value % (1 << 64) for condition in conditions),
            pid=workload.pid or 0,
            comm=workload.comm or "",
            one_in=workload.one_in or 0,
            above_ns=workload.keep_above_ns or 0,
            locks=(SectionGroups.LOCKS if workload.locks else 0)
            | (SectionGroups.PATHS if workload.paths else 0)
            | (SectionGroups.SAMPLES if workload.samples else 0),
            file=user.file if user is not None else "",
            treatment=SectionTreatment[(workload.experiment or "none").upper()],
        )


def check_recorder(workload: Section) -> None:
    """Raise RequestError for windows of executions that no thread takes along."""
    if workload.recorder is None:
        return
    pair = workload.place if isinstance(workload.place, TracepointPair) else None
    if pair is not None and pair.key != "thread":
        raise RequestError(
            "--recorder follows the thread of an execution: not with `by cpu` or `by ARGUMENT`"
        )
    if workload.recorder.stop_above_ns is not None or workload.recorder.detach is not None:
        raise RequestError("the recorder of a section is neither stopped nor detached early")


def check_experiment(workload: Section) -> None:
    """Raise RequestError for what says nothing where some executions are treated."""
    if workload.experiment is None:
        return
    with_it = {
        "--keep-above": workload.keep_above_ns is not None,
        "--locks": workload.locks,
        "--paths": workload.paths,
        "--recorder": workload.recorder is not None,
        "--samples": workload.samples,
    }
    named = [option for option, is_given in with_it.items() if is_given]
    if named:
        raise RequestError(
            f"not {named[0]} with --experiment: it would tell of treated executions and others "
            "alike"
        )
    place = workload.place
    if place.hook == "tracefs":
        raise RequestError(
            "--experiment needs BPF programs, which read before an execution: not --hook tracefs"
        )
    if workload.experiment == "flush" and not isinstance(place, UserCode):
        raise RequestError(
            "--experiment flush is for user code: code of the kernel can be flushed neither by "
            "a program, which cannot map it, nor by BPF; use code, cold, or prefetch"
        )
    if workload.experiment in ARMING and workload.one_in not in (None, 1):
        raise RequestError(
            f"--experiment {workload.experiment} itself draws which executions are kept, one after "
            "each flush or walk: leave --one-in out"
        )
    if workload.experiment == "prefetch" and isinstance(place, TracepointPair):
        raise RequestError(
            "--experiment prefetch reads the code of a function: what code runs between two "
            "tracepoints is not known"
        )


def _hook_of(place: AnyPlace) -> SectionHook:
    """Return the hook of the wire: of tracefs there is one for each kind of place."""
    if place.hook != "tracefs":
        return SectionHook[place.hook.upper().replace("-", "_")]
    is_event = isinstance(place, TracepointPair)
    return SectionHook.TRACE_EVENT if is_event else SectionHook.KPROBE_EVENT


def check_place(place: AnyPlace) -> None:
    """Raise RequestError for names that no kernel has, and for code that times executions."""
    if isinstance(place, KernelFunction):
        if len(place.function) > LONGEST_PLACE or not _FUNCTION.fullmatch(place.function):
            raise RequestError(f"{plain(place.function, 80)!r} is no name of a function")
        _refuse_own(place.function)
        return
    if isinstance(place, UserCode):
        check_user_code(place)
    elif isinstance(place, KernelPlaces):
        check_kernel_places(place)
    else:
        check_pair(place)


def is_own(function: str) -> bool:
    """Whether a function of the kernel runs where executions are timed, by its name."""
    return bool(_OWN.match(function) or _OWN_READS.match(function))


def check_kernel_places(place: KernelPlaces) -> None:
    """Raise RequestError for what is no place in a kernel, and for code that times executions."""
    for name in (place.begin, place.end):
        match = _KERNEL_PLACE.fullmatch(name)
        if len(name) > LONGEST_PLACE or match is None:
            raise RequestError(
                f"{plain(name, 80)!r} is no place in the kernel: write FUNCTION, "
                "FUNCTION+0xBYTES or 0xADDRESS; a tracepoint is SYSTEM:NAME"
            )
        _refuse_own(match["function"] or "")


def _refuse_own(function: str) -> None:
    if is_own(function):
        raise RequestError(
            f"{function} runs while an execution is timed: it cannot be timed itself"
        )


def check_pair(place: TracepointPair) -> None:
    """Raise RequestError for names that no kernel has."""
    for name in (place.begin, place.end):
        if len(name) > LONGEST_PLACE or not _TRACEPOINT.fullmatch(name):
            raise RequestError(f"{plain(name, 80)!r} is no name of a tracepoint: SYSTEM:NAME")
    if place.key == "argument" and not (place.begin_argument and place.end_argument):
        raise RequestError("by ARGUMENT: name the argument of both tracepoints")
    if len(place.conditions) > MOST_CONDITIONS:
        raise RequestError(f"a section has at most {MOST_CONDITIONS} conditions")
    names = [condition.argument for condition in place.conditions]
    if place.key == "argument":
        names += [place.begin_argument, place.end_argument]
    for name in names:
        if len(name) > LONGEST_PLACE or not _ARGUMENT.fullmatch(name):
            raise RequestError(f"{plain(name, 80)!r} is no name of an argument")
    for condition in place.conditions:
        if not -_MOST_VALUE < condition.value < _MOST_VALUE:
            raise RequestError(f"{condition.value} is not within 64 bits")


def parse_place(text: str, hook: str = "best") -> AnyPlace:
    """Return what a user names: FUNCTION, BEGIN..END [if ARG==N [and …]] [by KEY], or FILE:PLACE.

    BEGIN and END are tracepoints, or both are places in the kernel: what has no SYSTEM, no
    conditions and no KEY is left to the board.

    KEY: thread, cpu, an argument of both, or ARGUMENT,ARGUMENT of the one and of the other. Raises
    RequestError.
    """
    if is_user_code(text.strip()):
        if hook not in ("best", "uprobe"):
            raise RequestError(
                f"--hook {plain(hook, 40)} is of functions of the kernel: use uprobe"
            )
        return parse_user_code(text.strip(), "best" if hook == "best" else "uprobe")
    begin, dots, rest = text.strip().partition("..")
    if hook not in get_args(Hook):
        raise RequestError(
            f"unknown hook {hook[:40]!r}: expected one of {', '.join(get_args(Hook))}"
        )
    place: AnyPlace
    if not dots:
        place = KernelFunction(begin, hook)  # type: ignore[arg-type]
    elif _are_kernel_places(begin, rest):
        if hook not in get_args(PlacesHook):
            raise RequestError(f"--hook {hook} times whole functions: use kprobe or tracefs")
        place = KernelPlaces(begin=begin.strip(), end=rest.strip(), hook=hook)  # type: ignore[arg-type]
    else:
        # Another hook than that of all tracepoints is for functions.
        place = _parse_pair(begin.strip(), rest, "tracefs" if hook == "tracefs" else "best")
    check_place(place)
    return place


def _are_kernel_places(begin: str, rest: str) -> bool:
    """Whether a pair has nothing that only tracepoints have."""
    return ":" not in begin and ":" not in rest and len(rest.split()) < 2


def _parse_pair(begin: str, rest: str, hook: Literal["best", "tracefs"]) -> TracepointPair:
    words = rest.split()
    end = words[0] if words else ""
    words = words[1:]
    by: list[str] = []
    if "by" in words:
        at = words.index("by")
        words, by = words[:at], words[at + 1 :]
        if len(by) != 1:
            raise RequestError("write: by thread, by cpu, or by ARGUMENT[,ARGUMENT]")
    if words and words[0] != "if":
        raise RequestError(f"{plain(words[0], 40)!r}: write BEGIN..END [if ARG==N] [by KEY]")
    text = " ".join(words[1:])
    conditions = [_parse_condition(part) for part in re.split(r"\band\b|&&", text)] if words else []
    first, _, second = (by[0] if by else "thread").partition(",")
    if not second and first in ("thread", "cpu"):
        return TracepointPair(
            begin=begin,
            end=end,
            key="cpu" if first == "cpu" else "thread",
            conditions=conditions,
            hook=hook,
        )
    return TracepointPair(
        begin=begin,
        end=end,
        key="argument",
        begin_argument=first,
        end_argument=second or first,
        conditions=conditions,
        hook=hook,
    )


def _parse_condition(text: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise RequestError(f"{plain(text.strip(), 60)!r} is no condition: write ARGUMENT==NUMBER")
    word = match["value"]
    try:
        value = int(word, 0)
    except ValueError:
        raise RequestError(f"{plain(word, 40)!r} is no number") from None
    return Condition(match["argument"], value)
