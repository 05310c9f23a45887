"""Call paths of longer executions of a section, beside those of others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whylate.recording.manifest import Manifest
from whylate.recording.sections import PathReport
from whylate.summary.locks import UNKNOWN
from whylate.summary.model import PathFigures, PathsFigures

#: What keeps a path, and the kernel's own hooks that call it: no place in the code.
_HOOKS = re.compile(
    r"bpf_prog_|bpf_trace_run|__bpf_trace|__traceiter|trace_event_|bpf_trampoline_|bpf_get_stack|"
    r"__perf_event_|perf_trace_|trace_call_bpf|kretprobe_|(__)?kretprobe_trampoline|"
    r"(arch_)?rethook_|__rethook|ftrace_|arch_ftrace_|fprobe_|kprobe_"
)
#: Functions between a program at the end of a function and that function.
_MOST_HOOKS = 4


def path_figures(manifest: Manifest) -> PathsFigures | None:
    """Return the paths, those of most longer executions first; None where none were kept.

    Paths through the same functions are one, wherever these call each other.
    """
    section, workload = manifest.section, manifest.plan.activations
    report = section.paths if section is not None else None
    if section is None or report is None:
        return None
    # A trampoline is called from within the function.
    within = workload.function if workload is not None and section.hook == "fentry" else ""
    groups: dict[tuple[str, ...], list[PathReport]] = {}
    for path in report.groups:
        if path.longer or path.control:
            groups.setdefault(tuple(_callers(path.callers, within)), []).append(path)
    longer = sum(path.longer for path in report.groups)
    control = sum(path.control for path in report.groups)
    paths = [_merge(list(callers), same, longer, control) for callers, same in groups.items()]
    paths.sort(key=lambda path: (-path.longer, -path.control, path.callers))
    return PathsFigures(
        above_ns=report.above_ns, longer=longer, control=control, lost=report.lost, paths=paths
    )


def _merge(
    callers: list[str], same: Sequence[PathReport], longer: int, control: int
) -> PathFigures:
    own_longer = sum(path.longer for path in same)
    own_control = sum(path.control for path in same)
    return PathFigures(
        callers=callers,
        longer=own_longer,
        total_ns=sum(path.total_ns for path in same),
        longest_ns=max(path.longest_ns for path in same),
        control=own_control,
        share=own_longer / longer if longer else None,
        control_share=own_control / control if control else None,
    )


def _callers(names: Sequence[str], within: str) -> list[str]:
    """Return the functions of a path without offsets, and without what lies below its end.

    within: the function whose end it is, where hooks are called from within it.
    """
    functions = [name.split("+")[0] or UNKNOWN for name in names]
    if within and within in functions[:_MOST_HOOKS]:
        return functions[functions.index(within) + 1 :]
    first = next((at for at, name in enumerate(functions) if not _HOOKS.match(name)), None)
    return functions[first:] if first is not None else functions[-1:]
