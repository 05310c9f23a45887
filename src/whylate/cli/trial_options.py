"""What `whylate measure` is told of the workloads that have trials: switch, memory, clock, cmd."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from whylate.cli.parameter_types import Duration
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.clock import CLOCKS, HOWS, Clock
from whylate.recording.workloads.command import Command
from whylate.recording.workloads.memory import PAGES, ROUTINES, SOURCES, WHATS, Memory
from whylate.recording.workloads.switch import OVERS, Switch
from whylate.run.workloads.clock import CLOCK_NAMES
from whylate.run.workloads.memory import SIZES, has_parameter
from whylate.run.workloads.sweeps import parse_count, parse_size

if TYPE_CHECKING:
    from whylate.recording.workloads.benchmarks import BenchmarkPoint

_T = TypeVar("_T")
KINDS = ("process", "thread")
#: Options of each workload, by the names of their parameters, and as they are written.
BENCHMARKS: dict[str, type[Benchmark]] = {
    "switch": Switch,
    "memory": Memory,
    "clock": Clock,
    "cmd": Command,
}
_OF: dict[str, tuple[str, ...]] = {
    "switch": ("tasks", "set_size", "over", "kind"),
    "memory": ("ops", "sizes", "source", "pages", "routine"),
    "clock": ("clocks", "threads", "via", "service_ns", "think_ns", "predict"),
    "cmd": ("value", "unit", "higher_is_better"),
}
_OF_ALL = ("rounds", "repetitions", "block_ns", "free")
#: What the other workloads are told, and how it is written.
_OF_OTHERS = {
    "duration_ns": "--for",
    "interval_ns": "--interval",
    "requirements": "--require",
    "no_recorder": "--no-recorder",
    "engine": "--recorder",
    "threshold_ns": "--threshold",
    "stop_above_ns": "--stop-above",
    "until": "--until",
    "allow_idle_states": "--allow-idle-states",
    "spool": "--spool",
    "phases": "--phases",
    "comm": "--comm",
    "pid": "--pid",
}
#: The model is worked out thread by thread.
_MOST_PREDICTED = 10_000
_WRITTEN = {"block_ns": "--block", "service_ns": "--service", "think_ns": "--think"}


class Several(click.ParamType[tuple[_T, ...]]):
    """A list with commas between its words."""

    def __init__(self, name: str, word: Callable[[str], _T | None], example: str) -> None:
        self.name = name
        self._word = word
        self._example = example

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[_T, ...]:
        """Return what the words mean, each once."""
        if isinstance(value, tuple):
            return value
        found: list[_T] = []
        for text in str(value).split(","):
            one = self._word(text.strip())
            if one is None:
                self.fail(f"{text[:40]!r}: write it like {self._example}", param, ctx)
            found.append(one)
        return tuple(dict.fromkeys(found))


def _of(names: Sequence[str]) -> Several[str]:
    return Several("words", lambda text: text if text in names else None, ",".join(names))


def _predicted(text: str) -> int | None:
    number = parse_count(text)
    return number if number is not None and 1 <= number <= _MOST_PREDICTED else None


NUMBERS = Several("numbers", parse_count, "2,4,8")
PREDICTED = Several("numbers", _predicted, f"72,240, up to {_MOST_PREDICTED}")
_SIZES = Several("sizes", parse_size, "0,4k,64M")

#: In the order in which --help shows them.
_OPTIONS = [
    click.option("--rounds", type=click.IntRange(1, 1000), default=10, show_default=True,
                 help="Trials: how often every point is set up and measured, in random order."),
    click.option("--repetitions", type=click.IntRange(1, 1000), default=5, show_default=True,
                 help="Trials: repetitions each time."),
    click.option("--block", "block_ns", type=Duration(), metavar="TIME",
                 help="Trials: how long a repetition is, about.  [default: 50ms, memory 20ms]"),
    click.option("--free", is_flag=True,
                 help="Trials: let tasks run wherever the scheduler puts them."),
    click.option("--counters", type=Several("events", lambda text: text or None,
                                            "cycles,instructions"),
                 metavar="EVENTS", help="Count these too, by perf's names: cycles:u,r60."),
    click.option("--tasks", type=NUMBERS, default=(2,), metavar="N,…",
                 help="switch: tasks in the ring.  [default: 2]"),
    click.option("--set-size", type=_SIZES, default=(0,), metavar="SIZE,…",
                 help="switch: what each task reads when it has the token.  [default: 0]"),
    click.option("--over", type=_of(OVERS), default=("pipe",), metavar="WAY,…",
                 help=f"switch: {', '.join(OVERS)}.  [default: pipe]"),
    click.option("--kind", type=_of(KINDS), default=("process",), metavar="KIND,…",
                 help="switch: process, thread.  [default: process]"),
    click.option("--ops", type=_of(WHATS), default=WHATS[:3], metavar="OP,…",
                 help=f"memory: {', '.join(WHATS)}.  [default: copy,set,read]"),
    click.option("--sizes", type=_SIZES, default=SIZES, metavar="SIZE,…",
                 help="memory: of the buffers.  [default: 1M,4M,64M]"),
    click.option("--source", type=_of(SOURCES), default=("random",), metavar="WHAT,…",
                 help=f"memory: what was written to it: {', '.join(SOURCES)}.  [default: random]"),
    click.option("--pages", type=_of(PAGES), default=("small",), metavar="KIND,…",
                 help=f"memory: {', '.join(PAGES)}.  [default: small]"),
    click.option("--routine", type=_of(ROUTINES), default=("libc",), metavar="WHICH,…",
                 help=f"memory: {', '.join(ROUTINES)}.  [default: libc]"),
    click.option("--clocks", type=_of(tuple(CLOCKS)), default=CLOCK_NAMES, metavar="NAME,…",
                 help=f"clock: {', '.join(CLOCKS)}."),
    click.option("--threads", type=NUMBERS, default=(1,), metavar="N,…",
                 help="clock: how many read it at once.  [default: 1]"),
    click.option("--via", type=_of(HOWS), default=("libc",), metavar="WAY,…",
                 help="clock: libc, syscall, hpet (/dev/hpet mapped), device (an emulated one).  "
                 "[default: libc]"),
    click.option("--service", "service_ns", type=Duration(), metavar="TIME",
                 help="clock: how long the emulated device serves, on average."),
    click.option("--think", "think_ns", type=Duration(), metavar="TIME",
                 help="clock: what its users do between two calls, on average."),
    click.option("--predict", type=PREDICTED, default=(), metavar="N,…",
                 help="clock: predict what so many threads do."),
    click.option("--value", metavar="REGEX",
                 help="cmd: the number in what it writes that counts.  [default: its time]"),
    click.option("--unit", default="", metavar="TEXT", help="cmd: of that number."),
    click.option("--higher-is-better", is_flag=True, help="cmd: of that number."),
]  # fmt: skip


def trial_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of workloads that have trials to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def benchmark_of(
    ctx: click.Context, workload: str, argv: tuple[str, ...] | None, asked: Mapping[str, Any]
) -> Benchmark | None:
    """Return what is asked of a workload that has trials; None of another. Raises RequestError."""
    from whylate.run.errors import RequestError

    _refuse_others(ctx, workload)
    if workload not in BENCHMARKS:
        return None
    if workload != "cmd" and argv is not None:
        raise RequestError(f"-- COMMAND is of the workloads app and cmd, not of {workload}")
    _refuse_idle(ctx, workload, asked)
    given = {"priority": ctx.params["priority"]} if _given(ctx, "priority") else {}
    if given and workload != "switch":
        raise RequestError(f"--priority: nothing of the workload {workload} would have it")
    common: dict[str, Any] = {
        "rounds": asked["rounds"],
        "counters": [CounterPlan(name) for name in asked["counters"] or ()],
    }
    if workload != "cmd":
        common |= {"repetitions": asked["repetitions"], "free": asked["free"]}
        if asked["block_ns"] is not None:
            common["block_ns"] = asked["block_ns"]
    points: Any = list(_points(workload, argv, asked))
    return BENCHMARKS[workload](points=points, **common, **given)


def _refuse_others(ctx: click.Context, workload: str) -> None:
    """Raise RequestError for an option of another workload."""
    from whylate.run.errors import RequestError

    trials = workload in BENCHMARKS
    for name in [*_OF_ALL, *(one for names in _OF.values() for one in names)]:
        own = trials and (name in _OF_ALL or name in _OF[workload])
        if own or not _given(ctx, name):
            continue
        written = _written(name)
        of = next((one for one, names in _OF.items() if name in names), ", ".join(BENCHMARKS))
        raise RequestError(f"{written} is of the workload {of}, not of {workload}")
    for name, written in _OF_OTHERS.items():
        if trials and _given(ctx, name):
            raise RequestError(f"{written} is not of the workload {workload}: it has repetitions")


def _given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _written(name: str) -> str:
    return _WRITTEN.get(name, f"--{name.replace('_', '-')}")


def _refuse_idle(ctx: click.Context, workload: str, asked: Mapping[str, Any]) -> None:
    """Raise RequestError for an option that nothing of what is measured would have."""
    from whylate.run.errors import RequestError

    # What is wanted for each to mean something, and whether it is there.
    wants: dict[str, tuple[str, bool]] = {}
    if workload == "memory":
        for name in ("source", "routine"):
            means = any(has_parameter(one, name) for one in asked["ops"])
            wants[name] = (f"nothing that --ops {','.join(asked['ops'])} does has a {name}", means)
    elif workload == "clock":
        via = set(asked["via"])
        device = ("it is of --via device", "device" in via)
        wants |= {"service_ns": device, "think_ns": device}
        wants["clocks"] = ("it is of --via libc and syscall", bool(via & {"libc", "syscall"}))
    elif workload == "cmd":
        value = ("it is of the number that --value finds", asked["value"] is not None)
        once = ("a command is run once a round, wherever it is put", False)
        wants |= {"unit": value, "higher_is_better": value}
        wants |= {"repetitions": once, "block_ns": once, "free": once}
    for name, (why, means) in wants.items():
        if not means and _given(ctx, name):
            raise RequestError(f"{_written(name)} would change nothing: {why}")


def _points(
    workload: str, argv: tuple[str, ...] | None, asked: Mapping[str, Any]
) -> tuple[BenchmarkPoint, ...]:
    from whylate.recording.workloads.command import CommandPoint
    from whylate.run.workloads.clock import clock_points
    from whylate.run.workloads.memory import memory_points
    from whylate.run.workloads.switch import switch_points

    if workload == "switch":
        return switch_points(asked["tasks"], asked["set_size"], asked["over"], asked["kind"])
    if workload == "memory":
        return memory_points(
            asked["ops"], asked["sizes"], asked["source"], asked["pages"], asked["routine"]
        )
    if workload == "clock":
        return clock_points(
            asked["clocks"],
            asked["threads"],
            asked["via"],
            asked["service_ns"] or 0,
            asked["think_ns"] or 0,
        )
    return (
        CommandPoint(
            argv or (),
            value=asked["value"],
            unit=asked["unit"],
            higher_is_better=asked["higher_is_better"],
        ),
    )
