"""Whether what a board had to boot for took effect, by what the recording says of it."""

from __future__ import annotations

from whylate.boards.facts.cmdline import parameters
from whylate.recording.manifest import FactValue, Manifest
from whylate.run.knobs import Applied


def not_taken(applied: Applied, manifest: Manifest) -> str | None:
    """Say which knob a run was made without; None where it had them all."""
    facts = {one.name: one.value for one in manifest.facts}
    line = facts.get("kernel_command_line")
    # As in the fact, with secrets left out.
    for word in parameters(" ".join(applied.kernel_args)):
        if not isinstance(line, list) or word not in line:
            return f"cmdline: {word} is not on the kernel's command line{_advice(manifest.board)}"
    if applied.kernel is not None and not _has_kernel(applied.kernel, facts.get("preemption")):
        return f"kernel: it is not the {applied.kernel} one{_advice(manifest.board)}"
    return None


def _has_kernel(wanted: str, preemption: FactValue) -> bool:
    return (preemption == "rt") == (wanted == "rt")


def _advice(board: str) -> str:
    return f" (a board that is on already does not boot: whylate board off {board})"
