"""Plan an experiment: what is switched off, a knob, a load, a fault, or the knob of a cause.

Three variants of the recorded run alternate in random order: as recorded, with the cause off, and
as recorded again. The third is the placebo, which must show no share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whylate.causes.window.piece import Cause
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import fault as injected_fault
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import ActivationWorkload, RecorderPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import setting_of_workload
from whylate.run.knobs.files import file_setting, idle_states, same_file
from whylate.run.loads import load_text
from whylate.run.workloads import activation_rules
from whylate.study.check import are_same, check_idle_states, check_knobs
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant

ON, OFF, PLACEBO = "on", "off", "placebo"
#: Fewer rounds bound no useful share.
FEWEST_ROUNDS, MOST_ROUNDS, DEFAULT_ROUNDS = 4, 1000, 10

#: Causes that a knob switches off, on boards that have it.
_KNOBS: dict[Cause, tuple[str, str]] = {
    Cause.THROTTLING: ("rt-runtime", "-1"),
    Cause.IDLE_EXIT: ("idle-states", "held"),
    Cause.NMI: ("sysctl:kernel.nmi_watchdog", "0"),
    Cause.PREEMPTION_DISABLED: ("preempt", "full"),
}
_CODE = "it is in the kernel's code, which no knob changes; try another kernel in a study"
#: Advice for the other causes.
_NO_KNOB: dict[Cause, str] = {
    Cause.INTERRUPT: "name a knob that moves it: irq:N=CPUS sends interrupt N to other CPUs",
    Cause.SOFTIRQ: "name the load behind it, or a knob that moves that elsewhere (irq:N=CPUS)",
    Cause.THREAD: "name its load, or priority=N, which raises the measured thread above it",
    Cause.INTERRUPTS_DISABLED: _CODE,
    Cause.LOCK: _CODE,
    Cause.PAGE_FAULT: "name their source: a load, or thp=never",
    Cause.STEAL: "the host causes it: stop what else runs there, and make a study of that",
    Cause.OUTSIDE: "it is not known which it is: try idle=poll, or settings of the host or the "
    "firmware, in a study",
    Cause.BANDWIDTH: "set cpu.max of its cgroup, which no knob does: make a study of that",
    Cause.DEADLINE: "give it a larger runtime: make a study of that",
    Cause.PRIORITY: "name the load that changes it",
    Cause.STOPPED: "name the load that stops it",
    Cause.HOOK: "name the load that puts it there",
    Cause.BLOCKED: "name the load behind it",
    Cause.MIGRATION: "name the load that moves it",
    Cause.WOKEN_LATE: "name a knob that moves what wakes it: irq:N=CPUS, or "
    "sysctl:kernel.timer_migration=0",
    Cause.SCHEDULING: "every activation needs it",
    Cause.RETURN: "every activation needs it",
    Cause.RECORDING: "without the recorder there are no causes: compare with and without it by "
    "`whylate study run` and the knob recorder=off",
    Cause.UNEXPLAINED: "it has no evidence, so nothing is known to switch off",
    Cause.NOT_OBSERVED: "it was lost, so nothing is known to switch off",
}


@dataclass(frozen=True)
class Experiment:
    """The plan, and the causes whose time must fall; none if none was named."""

    plan: StudyPlan
    threshold_ns: int
    duration_ns: int
    description: str
    targets: frozenset[Cause]


@dataclass(frozen=True)
class _Switch:
    """Knobs with the cause on and off, beside those of both; off None: the knob is not set.

    left_out: the kind of a load that is left out of both, and set by a knob with the cause on.
    """

    description: str
    on: Mapping[str, str]
    off: Mapping[str, str | None]
    targets: frozenset[Cause]
    left_out: str = ""


def plan_experiment(
    board: str,
    plan: RunPlan,
    what: str,
    *,
    threshold_ns: int,
    rounds: int = DEFAULT_ROUNDS,
    duration_ns: int | None = None,
    target: Cause | None = None,
) -> Experiment:
    """Return the experiment on a run of that board; raises RequestError if there can be none.

    target None: the cause that the switch is for, if there is one.
    """
    activations = plan.activations
    if activations is None:
        raise RequestError("--experiment repeats wakeups and sections: not a benchmark")
    of_workload = activation_rules(activations)
    duration_ns = activations.duration_ns if duration_ns is None else duration_ns
    recorder = RecorderPlan(threshold_ns=threshold_ns)
    workload = of_workload.repeat(activations, duration_ns, recorder)
    if not FEWEST_ROUNDS <= rounds <= MOST_ROUNDS:
        raise RequestError(f"--rounds must lie between {FEWEST_ROUNDS} and {MOST_ROUNDS}")
    switch = _switch(plan, what)
    loads = [load for load in plan.loads if load.kind != switch.left_out]
    both = _as_recorded(plan, activations)
    on = {**both, **switch.on}
    off = {key: value for key, value in switch.off.items() if value is not None}
    off = {**_without(both, switch.off, plan), **off}
    study = StudyPlan(
        boards=[board],
        variants=[Variant(ON, on), Variant(OFF, off), Variant(PLACEBO, on)],
        loads=[LoadSet("as-recorded", loads)],
        stop=Stop("runs", [rounds]),
        workload=workload,
        cpus=plan.cpus if of_workload.takes_cpus else None,
        virtual_time=plan.virtual_time,
        smp=_cpus_needed(plan) if plan.virtual_time else None,
    )
    if are_same(study, study.variants[0], study.variants[1]):
        raise RequestError(
            f"--experiment {what[:60]}: the recording was made with it off: there is nothing to "
            "switch off"
        )
    check_knobs(study)
    if not idle_states(plan.settings):
        check_idle_states(study)
    targets = switch.targets if target is None else frozenset({target})
    return Experiment(study, threshold_ns, duration_ns, switch.description, targets)


def _cpus_needed(plan: RunPlan) -> int:
    """Return how many CPUs a virtual board has: those that are measured, and those of a fault."""
    needed = [max(plan.measured_cpus) + 1]
    for fault in plan.faults:
        try:
            needed.append(injected_fault(fault.name).cpus)
        except LabError as error:
            raise RequestError(str(error)) from None
    return max(needed)


def _as_recorded(plan: RunPlan, activations: ActivationWorkload) -> dict[str, str]:
    """Return the knobs of the recorded run."""
    knobs = {setting.path: setting.value for setting in plan.settings}
    if "idle-states" in activation_rules(activations).knobs:
        knobs["idle-states"] = "allowed" if activations.allow_idle_states else "held"
    if plan.faults:
        knobs["fault"] = _faults_text(plan)
    return knobs


def _without(
    knobs: Mapping[str, str], switched: Mapping[str, str | None], plan: RunPlan
) -> dict[str, str]:
    """Leave out the knobs that are switched, also those of the same file by another name."""
    settings = [
        file_setting(name, value or "") or setting_of_workload(plan, name, value or "")
        for name, value in switched.items()
    ]
    files = [setting.path for setting in settings if setting is not None]
    return {
        name: value
        for name, value in knobs.items()
        if name not in switched and not any(same_file(name, path) for path in files)
    }


def _faults_text(plan: RunPlan, without: str = "") -> str:
    return " ".join(
        " ".join([fault.name, *(f"{key}={value}" for key, value in fault.parameters.items())])
        for fault in plan.faults
        if fault.name != without
    )


def _switch(plan: RunPlan, what: str) -> _Switch:
    knob, equals, value = what.partition("=")
    if equals:
        targets = frozenset(cause for cause, (name, _) in _KNOBS.items() if name == knob)
        return _Switch(f"{knob} = {value}", {}, {knob: value}, targets)
    if what in {fault.name for fault in plan.faults}:
        return _fault(plan, what)
    if what in {load.kind for load in plan.loads}:
        return _load(plan, what)
    try:
        cause = Cause(what)
    except ValueError:
        loads = sorted({load.kind for load in plan.loads} | {fault.name for fault in plan.faults})
        there = f"loads of this run ({', '.join(loads)}), " if loads else ""
        raise RequestError(
            f"--experiment {what[:60]!r}: invalid value, expected one of {there}knobs "
            f"(KNOB=VALUE), and causes ({', '.join(_KNOBS)})"
        ) from None
    if cause not in _KNOBS:
        raise RequestError(f"no knob switches {cause.value!r} off: {_NO_KNOB[cause]}")
    name, value = _KNOBS[cause]
    return _Switch(f"{cause.value}, by {name} = {value}", {}, {name: value}, frozenset({cause}))


def _load(plan: RunPlan, kind: str) -> _Switch:
    loads = [load for load in plan.loads if load.kind == kind]
    if len(loads) > 1:
        raise RequestError(f"the run had {len(loads)} loads {kind}: only one can be switched off")
    return _Switch(f"without the load {kind}", {"load": load_text(loads[0])}, {}, frozenset(), kind)


def _fault(plan: RunPlan, name: str) -> _Switch:
    """Leave an injected fault out of a virtual board's run."""
    try:
        entry = injected_fault(name)
    except LabError as error:
        raise RequestError(str(error)) from None
    rest = _faults_text(plan, without=name)
    words = [*entry.answer.pieces, *(entry.answer_rt.pieces if entry.answer_rt else [])]
    targets = frozenset(
        cause for cause in Cause for word in words if f"{word} ".startswith(f"{cause.value} ")
    )
    return _Switch(f"without the injected fault {name}", {}, {"fault": rest or None}, targets)
