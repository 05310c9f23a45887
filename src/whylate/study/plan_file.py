"""A study's plan as a user writes it: TOML, with the keys of PlanFile.

boards, for, interval, priority, cpus, recorder, virtual_time, smp, seed, warm_up and budget say
what every run is; looks, anytime or runs when it stops; same = { p50 = "5%" } what is called the
same. loads = { idle = [], busy = ["memory", "net:2"] } has sets of loads by name, and each table
[variants.NAME] the knobs of a variant: governor = "performance". A table [knobs.NAME] with read and
write makes a knob of one's own, which is called "command:NAME". One of the tables [switch],
[memory], [clock] and [cmd] has the runs measure that instead of wakeups: its keys are the options
of whylate measure, as lists, and a knob "workload:pages" changes one of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whylate.compare.words import names_text
from whylate.quantities import parse_ns
from whylate.recording.path_part import path_part
from whylate.recording.workloads import Workload
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.commands import CommandKnob
from whylate.run.loads import parse_load
from whylate.run.workloads import TABLES
from whylate.run.workloads.sweeps import parse_size
from whylate.run.workloads.tables import BenchmarkTable, Duration, Size
from whylate.stats.comparison.factorial import MOST_FACTORS, combinations_of
from whylate.stats.comparison.run_statistics import MAY_BE_SAME
from whylate.study.check import check_differ, check_idle_states, check_knobs
from whylate.study.model import Factor, LoadSet, Stop, StudyPlan, Variant
from whylate.study.restore.cards import hash_images
from whylate.study.workload import statistic_names, table_workload
from whylate.wire.constants import LEAST_INTERVAL_NS

#: More than these no study has.
MOST_VARIANTS = 16
MOST_ROUNDS = 1000
DEFAULT_LOOKS = (10, 20, 30)
#: Fewer rounds can show nothing.
FEWEST_ROUNDS = 6
#: Rounds of a study of factors, where nothing is said: each effect is of all of its runs.
FACTORIAL_ROUNDS = 8
#: What a board runs before its first run, where nothing is said: clocks and caches settle.
WARM_UP_NS = 2_000_000_000
#: Nothing larger is a plan.
_MAX_PLAN = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_T = TypeVar("_T")
#: Keys of a plan that say how wakeups are measured.
_OF_WAKEUPS = ("for", "interval", "priority", "recorder")
_MARGIN = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%")


class PlanFile(msgspec.Struct, forbid_unknown_fields=True, rename={"duration": "for"}):
    """The keys of a plan."""

    boards: list[str] = msgspec.field(default_factory=lambda: ["local"])
    duration: str = "20s"
    interval: str = "1ms"
    priority: int = 80
    cpus: list[int] | None = None
    recorder: bool = True
    loads: dict[str, list[str]] = {}
    knobs: dict[str, CommandKnob] = {}
    variants: dict[str, dict[str, str | int | float | bool]] = {}
    factors: dict[str, list[str | int | float | bool]] = {}
    looks: list[int] | None = None
    anytime: int | None = None
    runs: int | None = None
    same: dict[str, str] = {}
    virtual_time: bool = False
    smp: int | None = None
    seed: int = 1
    budget: str | None = None
    warm_up: str | None = None
    #: The table of a benchmark, which a plan has under its name; None: wakeups are measured.
    workload: BenchmarkTable | None = None


def read_plan_file(path: Path) -> PlanFile:
    """Read a plan; raises RequestError with what is wrong in it."""
    try:
        if path.stat().st_size > _MAX_PLAN:
            raise RequestError(f"{path} is too large for a plan")
        raw: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        _check_keys(path, raw)
        _check_values(path, raw)
        tables = {name: raw.pop(name) for name in TABLES if name in raw}
        file = msgspec.convert(raw, type=PlanFile)
        for name, table in tables.items():
            file.workload = msgspec.convert(table, type=TABLES[name], dec_hook=_quantity)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise RequestError(f"{path}: {error}") from None
    except RecursionError:
        raise RequestError(f"{path}: brackets within brackets, too deep for a plan") from None
    if len(tables) > 1:
        raise RequestError(f"a study has one workload: one of [{'], ['.join(TABLES)}]")
    idle = [key for key in _OF_WAKEUPS if key in raw]
    if tables and idle:
        raise RequestError(f"{path}: {idle[0]} is of wakeups, and the runs measure {[*tables]}")
    return file


def _quantity(kind: type[Any], value: Any) -> Any:
    """Convert a time or a size of a table; raises RequestError."""
    text = str(value)
    if kind is Duration:
        ns = parse_ns(text, latency=False)
        if ns is None:
            raise RequestError(f"{text[:40]!r} is no time: write it like 1us or 50ms")
        return Duration(ns)
    size = parse_size(text)
    if size is None:
        raise RequestError(f"{text[:40]!r} is no size: write it like 4k or 64M")
    return Size(size)


def _check_keys(path: Path, raw: Mapping[str, Any]) -> None:
    """Raise RequestError for a key that nothing has, with those that there are."""
    places: list[tuple[str, Any, type]] = [("a plan", raw, PlanFile)]
    places += [(f"[{name}]", raw.get(name), table) for name, table in TABLES.items()]
    for place, found, kind in places:
        keys = [one.encode_name for one in msgspec.structs.fields(kind)]
        if kind is PlanFile:
            keys = [*(key for key in keys if key != "workload"), *TABLES]
        for key in found if isinstance(found, dict) else ():
            if key not in keys:
                raise RequestError(
                    f"{path}: {place} has no key {key[:60]!r}: there are {', '.join(sorted(keys))}"
                )


def _check_values(path: Path, raw: Mapping[str, Any]) -> None:
    """Raise RequestError for a knob whose value is none, by its name."""
    tables = {"factors": raw.get("factors")}
    variants = raw.get("variants")
    if isinstance(variants, dict):
        tables |= {f"variants.{name}": knobs for name, knobs in variants.items()}
    for table, knobs in tables.items():
        for knob, value in knobs.items() if isinstance(knobs, dict) else ():
            each = value if table == "factors" and isinstance(value, list) else [value]
            for one in each:
                if not isinstance(one, str | int | float | bool):
                    kind = "list" if isinstance(one, list) else "table or a time"
                    raise RequestError(
                        f"{path}: {knob[:60]!r} in [{table[:60]}] is a {kind}: a knob has a text, "
                        "a number, or true or false"
                    )


def resolve_plan(file: PlanFile) -> StudyPlan:
    """Return the plan that a file means; raises RequestError."""
    loads = file.loads or {"idle": []}
    for name in (*file.variants, *loads, *file.knobs):
        if not _NAME.fullmatch(name):
            raise RequestError(f"{name[:60]!r} is no name: letters, digits and . _ + - are")
    factors = _factors(file)
    variants = [Variant(name, _knobs(knobs)) for name, knobs in file.variants.items()]
    if factors and variants:
        raise RequestError("variants and factors: a study has one or the other")
    variants = _combined(factors) if factors else variants
    if not 2 <= len(variants) <= MOST_VARIANTS:
        raise RequestError(
            f"a study compares 2 to {MOST_VARIANTS} variants: write [variants.NAME] for each, or "
            "[factors] with two settings of each knob"
        )
    if not file.boards or len(set(file.boards)) != len(file.boards):
        raise RequestError("name each board once")
    _check_places("boards", file.boards)
    _check_places("loads", list(loads))
    _check_places("variants", [one.name for one in variants])
    workload = _workload(file)
    if isinstance(workload, BenchmarkWorkload):
        names, run_ns = statistic_names(workload), WARM_UP_NS
    else:
        names, run_ns = list(MAY_BE_SAME), workload.duration_ns
    plan = StudyPlan(
        boards=list(file.boards),
        variants=variants,
        knobs=file.knobs,
        image_sha256=hash_images(variants),
        factors=factors,
        loads=[LoadSet(name, [parse_load(one) for one in words]) for name, words in loads.items()],
        stop=_stop(file, several=bool(factors)),
        workload=workload,
        cpus=file.cpus,
        margins={name: _margin(name, text, names) for name, text in file.same.items()},
        virtual_time=file.virtual_time,
        smp=file.smp,
        seed=file.seed,
        budget_ns=None if file.budget is None else _time("budget", file.budget),
        warm_up_ns=_warm_up(file, run_ns),
    )
    check_knobs(plan)
    check_differ(plan)
    check_idle_states(plan)
    return plan


def _check_places(what: str, names: Sequence[str]) -> None:
    """Raise RequestError for names of one directory: the runs of both would lie there."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(path_part(name), name)
        if other != name:
            raise RequestError(
                f"{what} {other[:60]!r} and {name[:60]!r} would keep their runs in one directory "
                f"({path_part(name)}): name one of them otherwise"
            )


def _knobs(knobs: Mapping[_T, str | int | float | bool]) -> dict[_T, str]:
    return {
        name: ("yes" if value else "no") if isinstance(value, bool) else str(value)
        for name, value in knobs.items()
    }


def _time(key: str, text: str) -> int:
    ns = parse_ns(text, latency=False)
    if ns is None:
        raise RequestError(f"{key} = {text[:40]!r} is no time: write it like 20s, 500us or 2h")
    return ns


def _warm_up(file: PlanFile, duration_ns: int) -> int:
    """Return how long a board runs before its first run: in virtual time each run boots."""
    if file.virtual_time:
        if file.warm_up not in (None, "none"):
            raise RequestError("warm_up: in virtual time each run boots, and nothing stays warm")
        return 0
    if file.warm_up == "none":
        return 0
    if file.warm_up is None:
        return min(WARM_UP_NS, duration_ns)
    return _time("warm_up", file.warm_up)


def _times(file: PlanFile) -> tuple[int, int]:
    interval_ns = _time("interval", file.interval)
    duration_ns = _time("for", file.duration)
    if not LEAST_INTERVAL_NS <= interval_ns <= duration_ns:
        raise RequestError("the interval must lie between 50us and the time of a run")
    return duration_ns, interval_ns


def _workload(file: PlanFile) -> Workload:
    """Return what the runs measure; raises RequestError."""
    if file.workload is not None:
        return table_workload(file.workload)
    duration_ns, interval_ns = _times(file)
    recorder = RecorderPlan() if file.recorder else None
    return Wakeup(
        duration_ns=duration_ns,
        interval_ns=interval_ns,
        priority=file.priority,
        recorder=recorder,
    )


def _margin(name: str, text: str, names: Sequence[str]) -> float:
    match = _MARGIN.fullmatch(text.strip())
    if name not in names:
        raise RequestError(
            f"same takes {names_text(list(names))}: {name[:40]!r} is never shown to be the same"
        )
    if match is None or not float(match[1]):
        raise RequestError(f"same.{name} = {text[:40]!r} is no margin: write it like 5%")
    return 1 + float(match[1]) / 100


def _factors(file: PlanFile) -> list[Factor]:
    found = []
    for knob, settings in file.factors.items():
        if len(settings) != 2:
            raise RequestError(f"factor {knob[:60]!r} has {len(settings)} settings: two are needed")
        words = _knobs(dict(enumerate(settings)))
        found.append(Factor(knob, (words[0], words[1])))
    if found and not 2 <= len(found) <= MOST_FACTORS:
        raise RequestError(f"2 to {MOST_FACTORS} factors can be told apart, not {len(found)}")
    return found


def _combined(factors: Sequence[Factor]) -> list[Variant]:
    """Return a variant for each combination of settings, all first settings first."""
    found: list[Variant] = []
    for chosen in combinations_of(len(factors)):
        words = [one.settings[at] for one, at in zip(factors, chosen, strict=True)]
        name = "+".join(re.sub(r"[^A-Za-z0-9._-]+", "-", word)[:9].strip("-") for word in words)
        knobs = {one.knob: word for one, word in zip(factors, words, strict=True)}
        found.append(Variant(f"{len(found) + 1}.{name}", knobs))
    return found


def _stop(file: PlanFile, *, several: bool) -> Stop:
    given = [name for name in ("looks", "anytime", "runs") if getattr(file, name) is not None]
    if len(given) > 1:
        raise RequestError(f"{given[0]} and {given[1]}: a study stops by one rule")
    if file.anytime is not None and several:
        raise RequestError("a study of factors is looked at once: say runs, not anytime")
    if file.anytime is not None:
        return Stop("anytime", _rounds([file.anytime]))
    if several and file.looks is not None:
        raise RequestError("a study of factors is looked at once: say runs, not looks")
    if several and file.runs is None:
        return Stop("runs", [FACTORIAL_ROUNDS])
    if file.runs is not None:
        return Stop("runs", _rounds([file.runs]))
    return Stop("looks", _rounds(file.looks if file.looks is not None else DEFAULT_LOOKS))


def _rounds(looks: Sequence[int]) -> list[int]:
    rising = all(a < b for a, b in pairwise(looks))
    if not looks or not rising or looks[0] < FEWEST_ROUNDS or looks[-1] > MOST_ROUNDS:
        raise RequestError(
            f"rounds must be rising numbers from {FEWEST_ROUNDS} to {MOST_ROUNDS}: with fewer "
            "runs of each variant no difference can show"
        )
    return list(looks)
