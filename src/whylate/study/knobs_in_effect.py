"""Whether the knobs of a run were in effect, by the facts of its recording."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.boards.facts.cmdline import parameters, value_of
from whylate.recording.manifest import FactValue, Manifest
from whylate.run.knobs.apply import Applied
from whylate.run.record import LEAVING

#: The probe's note where idle states could not be held at the lightest.
_NOT_HELD = "idle-states"


def missing_knob(
    applied: Applied, manifest: Manifest, all_of_them: Sequence[Applied]
) -> str | None:
    """Return the knob that was not in effect, and why; None where all were.

    all_of_them: the variants of the study: a run must not have another variant's words.
    """
    facts = {one.name: one.value for one in manifest.facts}
    command_line = _command_line(applied, facts.get("kernel_command_line"), all_of_them)
    if command_line is not None:
        return f"knob cmdline: {command_line}{_advice(manifest.board)}"
    if applied.kernel is not None and not _has_kernel(applied.kernel, facts.get("preemption")):
        return f"knob kernel: it is not the {applied.kernel} one{_advice(manifest.board)}"
    return _of_the_run(applied, manifest, {name for one in all_of_them for name in one.knobs})


def _command_line(applied: Applied, line: FactValue, all_of_them: Sequence[Applied]) -> str | None:
    words = line if isinstance(line, list) else []
    wanted = _words(applied)
    others = [word for one in all_of_them for word in _words(one) if word not in wanted]
    if applied.left_out and not words:
        return "the kernel's command line could not be read"
    for word in wanted:
        if word not in words:
            return f"{word} is not on the kernel's command line"
    for name in applied.left_out:
        if value_of(words, name) is not None:
            return f"{name} is on the kernel's command line"
    for word in others:
        if word in words:
            return f"{word}, which is another variant's, is on the kernel's command line"
    return None


def _words(applied: Applied) -> list[str]:
    """Return words for the kernel as they are in the fact, with secrets left out."""
    return parameters(" ".join(applied.kernel_args))


def _of_the_run(applied: Applied, manifest: Manifest, varied: set[str]) -> str | None:
    """Return the knob of the run itself that had no effect. varied: the knobs of all variants."""
    plan, report = applied.plan, manifest.recorder
    recorded = report is not None and report.engine is not None
    if "recorder" in varied and plan.recorder is not None and not recorded:
        why = (report.refused if report is not None else None) or "the board did not say why"
        return f"knob recorder: there was none ({why.rstrip('.')})"
    problems = {one.code: one.text for one in manifest.problems}
    if (
        "idle-states" in varied
        and plan.activations is not None
        and not plan.activations.allow_idle_states
        and _NOT_HELD in problems
    ):
        return f"knob idle-states: {problems[_NOT_HELD]}"
    # What something else set meanwhile the run was not made with.
    return problems.get(LEAVING)


def _has_kernel(wanted: str, preemption: FactValue) -> bool:
    return (preemption == "rt") == (wanted == "rt")


def _advice(board: str) -> str:
    return f" (a board that is on already does not boot: whylate board off {board})"
