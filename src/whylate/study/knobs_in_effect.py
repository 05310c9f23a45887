"""Check by the facts of a recording that the knobs of its run were in effect."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.boards.facts.cmdline import parameters, value_of
from whylate.recording.manifest import FactValue, Manifest
from whylate.run.knobs.apply import Applied
from whylate.run.record import LEAVING

#: Code of the problem that idle states could not be held at the lightest.
_NOT_HELD = "idle-states"


def missing_knob(applied: Applied, manifest: Manifest, variants: Sequence[Applied]) -> str | None:
    """Return the knob that was not in effect, with the reason; None if all were.

    variants: all variants of the study: a run must not have kernel arguments of another variant.
    """
    facts = {fact.name: fact.value for fact in manifest.facts}
    command_line = _command_line(applied, facts.get("kernel_command_line"), variants)
    if command_line is not None:
        return f"knob cmdline: {command_line}{_advice(manifest.board)}"
    if applied.kernel is not None and not _has_kernel(applied.kernel, facts.get("preemption")):
        return f"knob kernel: the kernel is not the {applied.kernel} one{_advice(manifest.board)}"
    return _run_knob(applied, manifest, {name for variant in variants for name in variant.knobs})


def _command_line(applied: Applied, line: FactValue, variants: Sequence[Applied]) -> str | None:
    words = line if isinstance(line, list) else []
    wanted = _words(applied)
    unwanted = [word for variant in variants for word in _words(variant) if word not in wanted]
    if applied.left_out and not words:
        return "the kernel's command line could not be read"
    for word in wanted:
        if word not in words:
            return f"{word} is not on the kernel's command line"
    for name in applied.left_out:
        if value_of(words, name) is not None:
            return f"{name} is on the kernel's command line"
    for word in unwanted:
        if word in words and not _is_replaced(word, words, wanted):
            return f"{word} of another variant is on the kernel's command line"
    return None


def _is_replaced(word: str, words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a wanted word of the same name follows a word: the kernel uses the last.

    A board's own word may be that of another variant.
    """
    return any(_name(later) == _name(word) for later in words[words.index(word) :]
               if later in wanted)  # fmt: skip


def _name(word: str) -> str:
    return word.strip('"').partition("=")[0].replace("-", "_")


def _words(applied: Applied) -> list[str]:
    """Return kernel arguments as the fact has them, without secrets."""
    return parameters(" ".join(applied.kernel_args))


def _run_knob(applied: Applied, manifest: Manifest, varied: set[str]) -> str | None:
    """Return the knob of the run that had no effect. varied: the knobs of all variants."""
    plan, report = applied.plan, manifest.recorder
    recorded = report is not None and report.engine is not None
    if "recorder" in varied and plan.recorder is not None and not recorded:
        reason = (report.refused if report is not None else None) or "the board gave no reason"
        return f"knob recorder: there was none ({reason.rstrip('.')})"
    problems = {problem.code: problem.text for problem in manifest.problems}
    if (
        "idle-states" in varied
        and plan.activations is not None
        and not plan.activations.allow_idle_states
        and _NOT_HELD in problems
    ):
        return f"knob idle-states: {problems[_NOT_HELD]}"
    # Something else changed a setting during the run.
    return problems.get(LEAVING)


def _has_kernel(wanted: str, preemption: FactValue) -> bool:
    return (preemption == "rt") == (wanted == "rt")


def _advice(board: str) -> str:
    return f" (a board that is on does not boot again: whylate board off {board})"
