"""A study's plan as a user writes it: TOML, with the keys of PlanFile.

boards, cpus, virtual_time, smp, seed, warm_up and budget describe every run, and so do for,
interval, priority and recorder, which are of wakeups. looks, anytime or runs is the stopping rule;
same = { p50 = "5%" } has margins of equivalence.
hits = ["do_nanosleep in tuned"] has functions, tracepoints and lines of the facts, and the variants
that must have hits (whylate.compare.hits). loads = { idle = [], busy = ["memory", "net:2"] }
names sets of loads, and each table [variants.NAME] has the knobs of a variant: governor =
"performance". A table [knobs.NAME] with read and write defines a command knob, "command:NAME".
With one of the tables [switch], [memory], [clock], [bulk], [flush] and [cmd] the runs measure that
benchmark: its keys are the options of whylate bench, as lists, and a knob "workload:pages" changes
one of them.
With [section] they time that section: its place, and the options of whylate section.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whylate.compare.hits import HitDemand, parse_demand
from whylate.compare.words import names_text
from whylate.files import read_bounded
from whylate.recording.bounds import Integer, Small
from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.run.errors import RequestError
from whylate.run.hits import check_hits
from whylate.run.knobs.commands import CommandKnob
from whylate.run.loads import parse_load
from whylate.run.workloads import TABLES, benchmark_rules, rules
from whylate.run.workloads.tables import WorkloadTable, parse_duration, read_table, workload_of
from whylate.run.workloads.wakeup import WakeupTable
from whylate.stats.comparison.factorial import MOST_FACTORS, combinations_of
from whylate.stats.comparison.run_statistics import MAY_BE_SAME
from whylate.study.check import check_differ, check_idle_states, check_knobs
from whylate.study.model import Factor, LoadSet, Stop, StudyPlan, Variant
from whylate.study.restore.cards import hash_images
from whylate.text import path_part, plain

MAX_VARIANTS = 16
MAX_ROUNDS = 1000
#: Characters of a board's name or address.
MAX_BOARD = 300
DEFAULT_LOOKS = (10, 20, 30)
#: Fewer rounds cannot show a difference.
MIN_ROUNDS = 6
#: The default of a study of factors: each effect uses all of its runs.
FACTORIAL_ROUNDS = 8
#: The default time that a board runs before its first run, until clocks and caches settle.
WARM_UP_NS = 2_000_000_000
_MAX_FILE = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_MARGIN = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%")
_Value = str | int | float | bool
#: The same where it is read.
_Bounded = str | Integer | float | bool
_T = TypeVar("_T")


class CommitKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[commits]: how whylate bisect commits builds a commit, and brings it to the board.

    boot: knobs that say what the board boots of a build.
    """

    build: str = ""
    install: str = ""
    put: list[str] = []
    before: list[str] = []
    after: list[str] = []
    binary: str = ""
    boot: dict[str, _Bounded] = {}


class PlanFile(WakeupTable, msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a plan. workload: the table of another; None: wakeups are measured."""

    boards: list[str] = msgspec.field(default_factory=lambda: ["local"])
    cpus: list[Small] | None = None
    loads: dict[str, list[str]] = {}
    knobs: dict[str, CommandKnob] = {}
    variants: dict[str, dict[str, _Bounded]] = {}
    factors: dict[str, list[_Bounded]] = {}
    looks: list[Small] | None = None
    anytime: Small | None = None
    runs: Small | None = None
    same: dict[str, str] = {}
    hits: list[str] = []
    virtual_time: bool = False
    smp: Small | None = None
    seed: Integer = 1
    budget: str | None = None
    warm_up: str | None = None
    commits: CommitKeys | None = None
    workload: WorkloadTable | None = None


def read_plan_file(path: Path, words: Mapping[str, str] | None = None) -> PlanFile:
    """Read a plan; raises RequestError with what is wrong in it.

    words: what stands for {NAME} in every text of the plan.
    """
    try:
        raw: Any = tomllib.loads(read_bounded(path, _MAX_FILE).decode())
        raw = _filled(raw, words or {})
        _check_keys(path, raw)
        _check_values(path, raw)
        tables = {name: raw.pop(name) for name in TABLES if name in raw}
        file = msgspec.convert(raw, type=PlanFile)
        for name, table in tables.items():
            file.workload = read_table(TABLES[name], table)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise RequestError(f"{path}: {plain(str(error))}") from None
    except ValueError:
        # int() of more than 4300 digits, which tomllib passes on.
        raise RequestError(f"{path}: a number has more digits than any key takes") from None
    except RecursionError:
        raise RequestError(f"{path}: brackets are nested too deep for a plan") from None
    if len(tables) > 1:
        raise RequestError(f"a study has one workload: one of [{'], ['.join(TABLES)}]")
    unused = [key for key in _keys(WakeupTable) if key in raw]
    if tables and unused:
        raise RequestError(f"{path}: {unused[0]} is of wakeups, and the runs measure {[*tables]}")
    return file


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """Return a value of TOML with the words filled in."""
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(f"{{{name}}}", word)
        return value
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    return value


def _keys(table: type[msgspec.Struct]) -> list[str]:
    # msgspec.structs.fields() evaluates every annotation of a table anew.
    return list(table.__struct_encode_fields__)


def _check_keys(path: Path, raw: Mapping[str, Any]) -> None:
    """Raise RequestError for an unknown key, with those that exist."""
    keys = [*(key for key in _keys(PlanFile) if key != "workload"), *TABLES]
    places: list[tuple[str, Any, list[str]]] = [("a plan", raw, keys)]
    tables: dict[str, type[msgspec.Struct]] = {**TABLES, "commits": CommitKeys}
    places += [(f"[{name}]", raw.get(name), _keys(table)) for name, table in tables.items()]
    for place, table, keys in places:
        for key in table if isinstance(table, dict) else ():
            if key not in keys:
                raise RequestError(
                    f"{path}: {place} has no key {key[:60]!r}: there are {', '.join(sorted(keys))}"
                )


def _check_values(path: Path, raw: Mapping[str, Any]) -> None:
    """Raise RequestError for a knob whose value has a wrong type, with its name."""
    tables = {"factors": raw.get("factors")}
    variants = raw.get("variants")
    if isinstance(variants, dict):
        tables |= {f"variants.{name}": knobs for name, knobs in variants.items()}
    commits = raw.get("commits")
    if isinstance(commits, dict):
        tables["commits.boot"] = commits.get("boot")
    for table, knobs in tables.items():
        for knob, value in knobs.items() if isinstance(knobs, dict) else ():
            settings = value if table == "factors" and isinstance(value, list) else [value]
            for setting in settings:
                if not isinstance(setting, _Value):
                    kind = "list" if isinstance(setting, list) else "table or a time"
                    raise RequestError(
                        f"{path}: {knob[:60]!r} in [{table[:60]}] is a {kind}: a knob has a text, "
                        "a number, or true or false"
                    )


def resolve_plan(file: PlanFile) -> StudyPlan:
    """Return the plan that a file describes; raises RequestError."""
    factors = _factors(file)
    variants = [Variant(name, knob_texts(knobs)) for name, knobs in file.variants.items()]
    if factors and variants:
        raise RequestError("variants and factors: a study has one or the other")
    variants = _combined(factors) if factors else variants
    if not 2 <= len(variants) <= MAX_VARIANTS:
        raise RequestError(
            f"a study compares 2 to {MAX_VARIANTS} variants: write [variants.NAME] for each, or "
            "[factors] with two settings of each knob"
        )
    plan = _plan(file, variants, factors)
    check_knobs(plan)
    check_differ(plan)
    check_idle_states(plan)
    return plan


def plan_of_variants(file: PlanFile, variants: Sequence[Variant]) -> StudyPlan:
    """Return the plan of variants that the file does not have; raises RequestError."""
    plan = _plan(file, list(variants), [])
    check_knobs(plan)
    return plan


def _plan(file: PlanFile, variants: list[Variant], factors: list[Factor]) -> StudyPlan:
    """Return the plan of these variants; raises RequestError."""
    if file.commits is not None:
        raise RequestError("[commits] is of whylate bisect commits")
    loads = file.loads or {"idle": []}
    for name in (*(variant.name for variant in variants if not factors), *loads, *file.knobs):
        if not _NAME.fullmatch(name):
            raise RequestError(
                f"invalid name {name[:60]!r}: expected up to 40 of A-Z a-z 0-9 . _ + -"
            )
    if not file.boards or len(set(file.boards)) != len(file.boards):
        raise RequestError("name each board once")
    if too_long := next((name for name in file.boards if len(name) > MAX_BOARD), None):
        raise RequestError(f"board {too_long[:40]!r}… has more than {MAX_BOARD} characters")
    _check_directories("boards", file.boards)
    _check_directories("loads", list(loads))
    _check_directories("variants", [variant.name for variant in variants])
    workload = workload_in(file)
    if isinstance(workload, BenchmarkWorkload):
        statistics, run_ns = benchmark_rules(workload).statistic_names(workload), WARM_UP_NS
    else:
        statistics, run_ns = list(MAY_BE_SAME), workload.duration_ns
    return StudyPlan(
        boards=list(file.boards),
        variants=variants,
        knobs=file.knobs,
        image_sha256=hash_images(variants, file.boards),
        factors=factors,
        loads=[LoadSet(name, list(map(parse_load, texts))) for name, texts in loads.items()],
        stop=_stop(file),
        workload=workload,
        cpus=file.cpus,
        margins={name: _margin(name, text, statistics) for name, text in file.same.items()},
        hits=_hits(file.hits, [variant.name for variant in variants]),
        virtual_time=file.virtual_time,
        smp=file.smp,
        seed=file.seed,
        budget_ns=None if file.budget is None else parse_duration("budget", file.budget),
        warm_up_ns=_warm_up(file, run_ns),
    )


def _check_directories(kind: str, names: Sequence[str]) -> None:
    """Raise RequestError for two names that would share a directory."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(path_part(name), name)
        if other != name:
            raise RequestError(
                f"{kind} {other[:60]!r} and {name[:60]!r} would keep their runs in one directory "
                f"({path_part(name)}): rename one of them"
            )


def knob_texts(knobs: Mapping[_T, _Value]) -> dict[_T, str]:
    """Return the values of knobs as texts, by their names."""
    return {
        name: ("yes" if value else "no") if isinstance(value, bool) else str(value)
        for name, value in knobs.items()
    }


def _warm_up(file: PlanFile, run_ns: int) -> int:
    """Return how long a board runs before its first run; in virtual time each run boots."""
    if file.virtual_time and file.warm_up not in (None, "none"):
        raise RequestError("warm_up: in virtual time each run boots, and nothing stays warm")
    if file.virtual_time or file.warm_up == "none":
        return 0
    if file.warm_up is None:
        return min(WARM_UP_NS, run_ns)
    return parse_duration("warm_up", file.warm_up)


def workload_in(file: PlanFile) -> Workload:
    """Return what the runs of a plan measure; raises RequestError."""
    workload = file.wakeups() if file.workload is None else workload_of(file.workload)
    rules(workload).check(
        RunPlan(workload=workload, cpus=file.cpus, virtual_time=file.virtual_time)
    )
    return workload


def _margin(name: str, text: str, statistics: Sequence[str]) -> float:
    match = _MARGIN.fullmatch(text.strip())
    if name not in statistics:
        raise RequestError(
            f"same takes {names_text(list(statistics))}: {name[:40]!r} is never shown to be the "
            "same"
        )
    if match is None or not float(match[1]):
        raise RequestError(f"same.{name} = {text[:40]!r}: invalid margin, write it like 5%")
    return 1 + float(match[1]) / 100


def _hits(texts: Sequence[str], variants: Sequence[str]) -> list[HitDemand]:
    """Return what must be hit, and in which variants; raises RequestError."""
    try:
        demands = [parse_demand(text) for text in texts]
    except ValueError as error:
        raise RequestError(f"hits: {error}") from None
    check_hits([demand.name for demand in demands])
    for demand in demands:
        other = next((arm for arm in demand.arms if arm not in variants), None)
        if other is not None:
            raise RequestError(
                f"hits: {demand.name[:60]} is to be hit in {other[:40]!r}, and the variants are "
                f"{names_text(list(variants))}"
            )
    return demands


def _factors(file: PlanFile) -> list[Factor]:
    factors = []
    for knob, settings in file.factors.items():
        if len(settings) != 2:
            raise RequestError(f"factor {knob[:60]!r} has {len(settings)} settings: two are needed")
        words = knob_texts(dict(enumerate(settings)))
        factors.append(Factor(knob, (words[0], words[1])))
    if factors and not 2 <= len(factors) <= MOST_FACTORS:
        raise RequestError(f"a study can separate 2 to {MOST_FACTORS} factors, not {len(factors)}")
    return factors


def _combined(factors: Sequence[Factor]) -> list[Variant]:
    """Return a variant for each combination of settings, all first settings first."""
    variants: list[Variant] = []
    for chosen in combinations_of(len(factors)):
        words = [factor.settings[at] for factor, at in zip(factors, chosen, strict=True)]
        name = "+".join(re.sub(r"[^A-Za-z0-9._-]+", "-", word)[:9].strip("-") for word in words)
        knobs = {factor.knob: word for factor, word in zip(factors, words, strict=True)}
        variants.append(Variant(f"{len(variants) + 1}.{name}", knobs))
    return variants


def _stop(file: PlanFile) -> Stop:
    rules = [name for name in ("looks", "anytime", "runs") if getattr(file, name) is not None]
    if len(rules) > 1:
        raise RequestError(f"{rules[0]} and {rules[1]}: a study has one stopping rule")
    if file.factors and rules and rules != ["runs"]:
        raise RequestError(f"a study of factors has one look: write runs, not {rules[0]}")
    if file.anytime is not None:
        return Stop("anytime", _rounds([file.anytime]))
    if file.runs is not None:
        return Stop("runs", _rounds([file.runs]))
    if file.factors:
        return Stop("runs", [FACTORIAL_ROUNDS])
    return Stop("looks", _rounds(DEFAULT_LOOKS if file.looks is None else file.looks))


def _rounds(looks: Sequence[int]) -> list[int]:
    rising = all(a < b for a, b in pairwise(looks))
    if not looks or not rising or looks[0] < MIN_ROUNDS or looks[-1] > MAX_ROUNDS:
        raise RequestError(
            f"rounds must be rising numbers from {MIN_ROUNDS} to {MAX_ROUNDS}: with fewer runs of "
            "each variant no difference can show"
        )
    return list(looks)
