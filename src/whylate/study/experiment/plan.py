"""What is switched off to see what goes away: a knob, a load, a fault, or a cause's own knob.

Three variants of the recording's own run, in turns and in random order: as it was, with the cause
off, and once more as it was. The third is the placebo: it must show no share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whylate.causes.window.piece import Cause
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import fault as injected_fault
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import ActivationWorkload, RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import file_setting
from whylate.run.knobs.files import idle_states, same_file
from whylate.run.loads import load_text
from whylate.study.check import are_same, check_idle_states, check_knobs
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant

ON, OFF, PLACEBO = "on", "off", "placebo"
#: Fewer rounds bound no share worth having.
FEWEST_ROUNDS, MOST_ROUNDS, DEFAULT_ROUNDS = 4, 1000, 10

#: Causes that a knob switches off on any board that has it.
_KNOBS: dict[Cause, tuple[str, str]] = {
    Cause.THROTTLING: ("rt-runtime", "-1"),
    Cause.IDLE_EXIT: ("idle-states", "held"),
    Cause.NMI: ("sysctl:kernel.nmi_watchdog", "0"),
    Cause.PREEMPTION_DISABLED: ("preempt", "full"),
}
_CODE = "it is in the kernel's code, which no knob changes; try another kernel in a study"
#: What to say of the others.
_NO_KNOB: dict[Cause, str] = {
    Cause.INTERRUPT: "name what moves it: irq:N=CPUS sends interrupt N to other CPUs",
    Cause.SOFTIRQ: "name the load behind it, or a knob that moves that elsewhere (irq:N=CPUS)",
    Cause.THREAD: "name the load that it is of, or priority=N, which puts the measured one above",
    Cause.INTERRUPTS_DISABLED: _CODE,
    Cause.LOCK: _CODE,
    Cause.PAGE_FAULT: "name what makes them: a load, or thp=never",
    Cause.STEAL: "it is the host's doing: stop what else runs there, and study that",
    Cause.SCHEDULING: "it is the activation's own way",
    Cause.RETURN: "it is the activation's own way",
    Cause.RECORDING: "without the recorder there is nothing to account: whylate study, "
    "recorder=off, compares with and without",
    Cause.UNEXPLAINED: "it has no name, and what has no name cannot be switched off",
    Cause.NOT_OBSERVED: "nothing is known of it that could be switched off",
}


@dataclass(frozen=True)
class Experiment:
    """The plan, and the causes whose own time must fall; none: none was named."""

    plan: StudyPlan
    workload: Wakeup
    description: str
    targets: frozenset[Cause]


@dataclass(frozen=True)
class _Switch:
    """What is set with the cause on and off, besides what both have; off None: is not set.

    left_out: the kind of a load that both do without, but for what is set.
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
    """Return the experiment on a run of that board; raises RequestError for what cannot be one.

    target None: the cause that is known to be what the switch is for, if any is.
    """
    activations = plan.activations
    if activations is None or plan.target is not None:
        raise RequestError("--experiment repeats the wakeup workload: not that of a program")
    if not FEWEST_ROUNDS <= rounds <= MOST_ROUNDS:
        raise RequestError(f"--rounds must lie between {FEWEST_ROUNDS} and {MOST_ROUNDS}")
    switch = _switch(plan, what)
    loads = [one for one in plan.loads if one.kind != switch.left_out]
    both = _as_recorded(plan, activations)
    on = {**both, **switch.on}
    off = {key: value for key, value in switch.off.items() if value is not None}
    off = {**_without(both, switch.off), **off}
    workload = Wakeup(
        duration_ns=duration_ns if duration_ns is not None else activations.duration_ns,
        interval_ns=activations.interval_ns,
        priority=activations.priority,
        recorder=RecorderPlan(threshold_ns=threshold_ns),
    )
    study = StudyPlan(
        boards=[board],
        variants=[Variant(ON, on), Variant(OFF, off), Variant(PLACEBO, on)],
        loads=[LoadSet("as-recorded", loads)],
        stop=Stop("runs", [rounds]),
        workload=workload,
        cpus=plan.cpus,
        virtual_time=plan.virtual_time,
        smp=max(plan.measured_cpus) + 1 if plan.virtual_time else None,
    )
    if are_same(study, study.variants[0], study.variants[1]):
        raise RequestError(
            f"--experiment {what[:60]}: the recording was made so already: there is nothing to "
            "switch off"
        )
    check_knobs(study)
    if not idle_states(plan.settings):
        check_idle_states(study)
    targets = switch.targets if target is None else frozenset({target})
    return Experiment(study, workload, switch.description, targets)


def _as_recorded(plan: RunPlan, activations: ActivationWorkload) -> dict[str, str]:
    """Return the knobs of the recording's own run."""
    knobs = {one.path: one.value for one in plan.settings}
    knobs["idle-states"] = "allowed" if activations.allow_idle_states else "held"
    if plan.faults:
        knobs["fault"] = _faults_text(plan)
    return knobs


def _without(knobs: Mapping[str, str], switched: Mapping[str, str | None]) -> dict[str, str]:
    """Leave out what is switched, by whichever name: of one file one knob is set."""
    files = [
        one.path for name, value in switched.items() if (one := file_setting(name, value or ""))
    ]
    return {
        name: value
        for name, value in knobs.items()
        if name not in switched and not any(same_file(name, path) for path in files)
    }


def _faults_text(plan: RunPlan, without: str = "") -> str:
    return " ".join(
        " ".join([one.name, *(f"{key}={value}" for key, value in one.parameters.items())])
        for one in plan.faults
        if one.name != without
    )


def _switch(plan: RunPlan, what: str) -> _Switch:
    knob, equals, value = what.partition("=")
    if equals:
        targets = frozenset(one for one, (name, _) in _KNOBS.items() if name == knob)
        return _Switch(f"{knob} = {value}", {}, {knob: value}, targets)
    if what in {one.name for one in plan.faults}:
        return _known(plan, what)
    if what in {one.kind for one in plan.loads}:
        return _load(plan, what)
    try:
        cause = Cause(what)
    except ValueError:
        loads = sorted({one.kind for one in plan.loads} | {one.name for one in plan.faults})
        there = f"loads of this run ({', '.join(loads)}), " if loads else ""
        raise RequestError(
            f"--experiment {what[:60]!r} is nothing to switch off: there are {there}knobs "
            f"(KNOB=VALUE), and causes ({', '.join(_KNOBS)})"
        ) from None
    if cause not in _KNOBS:
        raise RequestError(f"no knob switches {cause.value!r} off: {_NO_KNOB[cause]}")
    name, value = _KNOBS[cause]
    return _Switch(f"{cause.value}, by {name} = {value}", {}, {name: value}, frozenset({cause}))


def _load(plan: RunPlan, kind: str) -> _Switch:
    these = [one for one in plan.loads if one.kind == kind]
    if len(these) > 1:
        raise RequestError(f"the run had {len(these)} loads {kind}: only one can be switched off")
    return _Switch(f"without the load {kind}", {"load": load_text(these[0])}, {}, frozenset(), kind)


def _known(plan: RunPlan, name: str) -> _Switch:
    """Leave an injected fault out of a virtual board's run."""
    try:
        entry = injected_fault(name)
    except LabError as error:
        raise RequestError(str(error)) from None
    rest = _faults_text(plan, without=name)
    words = [*entry.answer.pieces, *(entry.answer_rt.pieces if entry.answer_rt else [])]
    targets = frozenset(
        one for one in Cause for word in words if f"{word} ".startswith(f"{one.value} ")
    )
    return _Switch(f"without the injected fault {name}", {}, {"fault": rest or None}, targets)
