"""Call paths of longer executions of a section, beside those of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from whylate.recording.manifest import Manifest
from whylate.recording.sections import PathReport, PathsReport
from whylate.stats.limits import binomial_limits
from whylate.summary.locks import UNKNOWN
from whylate.summary.model import DifferingFunction, PathFigures, PathsFigures

#: What keeps a path, and the kernel's own hooks that call it: no place in the code.
_HOOKS = re.compile(
    r"bpf_prog_|bpf_trace_run|__bpf_trace|__traceiter|trace_event_|bpf_trampoline_|bpf_get_stack|"
    r"__perf_event_|perf_trace_|trace_call_bpf|kretprobe_|(__)?kretprobe_trampoline|"
    r"(arch_)?rethook_|__rethook|ftrace_|arch_ftrace_|fprobe_|kprobe_"
)
#: Functions between a program at the end of a function and that function.
_MOST_HOOKS = 4
_CONFIDENCE = 0.95


def path_figures(manifest: Manifest) -> PathsFigures | None:
    """Return the paths, those of most longer executions first; None where none were kept.

    Paths through the same functions are one, wherever these call each other.
    """
    section, workload = manifest.section, manifest.plan.activations
    if section is None or section.paths is None:
        return None
    # A trampoline is called from within the function.
    within = workload.function if workload is not None and section.hook == "fentry" else ""
    return _figures(section.paths, lambda names: tuple(_callers(names, within)))


def sample_figures(manifest: Manifest) -> PathsFigures | None:
    """Return the same of where executions were seen in their own code, up to the section."""
    section, workload = manifest.section, manifest.plan.activations
    if section is None or section.samples is None:
        return None
    function = workload.function if workload is not None else ""
    figures = _figures(section.samples, lambda names: tuple(_callees(names, function)))
    return msgspec.structs.replace(figures, differing=_differing(figures))


def _figures(
    report: PathsReport, functions_of: Callable[[Sequence[str]], tuple[str, ...]]
) -> PathsFigures:
    groups: dict[tuple[str, ...], list[PathReport]] = {}
    for path in report.groups:
        if path.longer or path.control:
            groups.setdefault(functions_of(path.callers), []).append(path)
    longer = sum(path.longer for path in report.groups)
    control = sum(path.control for path in report.groups)
    paths = [_merge(list(callers), same, longer, control) for callers, same in groups.items()]
    paths.sort(key=lambda path: (-path.longer, -path.control, path.callers))
    return PathsFigures(
        above_ns=report.above_ns, longer=longer, control=control, lost=report.lost, paths=paths
    )


def _differing(figures: PathsFigures) -> DifferingFunction | None:
    """Return the outermost function that longer executions are in more often than others.

    The interval of the difference of two shares is from Clopper-Pearson limits of each at 97.5 %:
    it holds at 95 % or more (Bonferroni) of a function that is named beforehand. One is chosen of
    all, so each limit is at 1 - 0.025 / functions. Those within a fifth of the largest difference
    are one longer path: of them the outermost is named.
    """
    counts: dict[str, list[int]] = {}
    depth: dict[str, int] = {}
    for path in figures.paths:
        for level, name in enumerate(reversed(path.callers)):
            depth[name] = min(level, depth.get(name, level))
        for name in set(path.callers):
            both = counts.setdefault(name, [0, 0])
            both[0] += path.longer
            both[1] += path.control
    if not counts or not figures.longer or not figures.control:
        return None
    confidence = 1 - (1 - _CONFIDENCE) / 2 / len(counts)

    def difference(name: str) -> float:
        longer, control = counts[name]
        return longer / figures.longer - control / figures.control

    def limits(name: str) -> tuple[float, float]:
        longer, control = counts[name]
        low, high = binomial_limits(longer, figures.longer, confidence)
        other_low, other_high = binomial_limits(control, figures.control, confidence)
        return low - other_high, high - other_low

    largest = max(map(difference, counts))
    near = [name for name in counts if difference(name) >= 0.8 * largest and limits(name)[0] > 0]
    if not near:
        return None
    name = min(near, key=lambda each: (depth[each], -difference(each), each))
    longer, control = counts[name]
    low, high = limits(name)
    return DifferingFunction(name=name, longer=longer, control=control, low=low, high=high)


def _callees(names: Sequence[str], function: str) -> list[str]:
    """Return the functions of a stack without offsets, up to the function that is the section."""
    functions = [name.split("+")[0] or UNKNOWN for name in names]
    return functions[: functions.index(function) + 1] if function in functions else functions


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
