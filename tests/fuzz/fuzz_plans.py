"""Plan files: whatever a user writes is a plan or one clear line."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import random
import re
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzz_case
import seeds
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from mutate import mutate

from whylate.run.errors import RequestError
from whylate.study.plan_file import read_plan_file, resolve_plan

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMES = ["20s", "1ms", "0s", "-1s", "1e99s", "30d", "31d", "99999999999999999999s", "50us", "1ns"]
SIZES = ["64K", "1M", "0", "-1", "99999999999999T", "64", "4K-1M", "1e9"]
KNOBS = ["thp", "priority", "recorder", "idle-states", "sysctl:vm.swappiness", "env:A", "image",
         "kernel", "workload:sizes", "workload:tasks", "command:fan", "sysfs:a"]  # fmt: skip
numbers = st.sampled_from(fuzz_case.BOUNDS) | st.integers(-(1 << 70), 1 << 70)
words = st.sampled_from([*TIMES, *SIZES, "always", "never", "on", "off", "copy", "pipe", "5%", "pc",
                         "memory", "net:2", "net:10.0.2.2,rate=1M", "block:/dev/vda,size=4k",
                         "cmd:true", "small", "random", "local"])  # fmt: skip
scalars = st.one_of(words, words, numbers, st.booleans(), st.text(max_size=20),
                    st.floats(allow_nan=True))  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
variants = st.dictionaries(
    st.sampled_from(["a", "b", "c", "../x", "x" * 60]),
    st.dictionaries(st.sampled_from(KNOBS), scalars, max_size=3),
    min_size=1,
    max_size=4,
)
keys = {
    "boards": st.lists(words, max_size=3), "for": st.sampled_from(TIMES), "interval":
    st.sampled_from(TIMES), "priority": numbers, "looks": st.lists(numbers | st.integers(4, 40),
    max_size=4), "runs": numbers | st.integers(4, 40), "anytime": numbers, "seed": numbers,
    "budget": st.sampled_from(TIMES), "warm_up": st.sampled_from([*TIMES, "none"]),
    "cpus": st.lists(numbers, max_size=3), "smp": numbers, "variants": variants,
    "loads": st.dictionaries(words, st.lists(words, max_size=2), max_size=2),
    "same": st.dictionaries(st.sampled_from(["p50", "p99", "x"]), words, max_size=2),
    "factors": st.dictionaries(st.sampled_from(KNOBS), st.lists(scalars, max_size=3), max_size=3),
    "knobs": st.dictionaries(words, st.dictionaries(st.sampled_from(["read", "write"]), words),
    max_size=2), "memory": st.dictionaries(st.sampled_from(["ops", "sizes", "source", "pages",
    "rounds", "repetitions", "block"]), values), "switch": st.dictionaries(st.sampled_from(["tasks",
    "set_size", "over", "kind", "priority", "block", "rounds"]), values), "clock":
    st.dictionaries(st.sampled_from(["clock", "threads", "how", "service", "think"]), values),
    "command": st.dictionaries(st.sampled_from(["argv", "value", "unit"]), values),
    "virtual_time": st.booleans(), "other": values,
}  # fmt: skip
_KEYS = [*keys, "factors", "variants", "hits", "virtual_time"]
_TABLES = {
    "loads": ["idle", "busy", "../x"], "same": ["p50", "p99", "x"],
    "knobs": ["fan", "x", "command:fan"],
    "memory": ["ops", "sizes", "source", "pages", "rounds", "repetitions", "block"],
    "switch": ["tasks", "set_size", "over", "kind", "priority", "block", "rounds"],
    "clock": ["clock", "threads", "how", "service", "think"], "cmd": ["argv", "value", "unit"],
    "command": ["argv", "value", "unit"],
}  # fmt: skip
_TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
plans = st.fixed_dictionaries({}, optional={key: value | values for key, value in keys.items()})
good = st.fixed_dictionaries({"variants": variants, "boards": st.just(["local"])},
                             optional={key: value for key, value in keys.items()
                                       if key not in ("variants", "boards")})  # fmt: skip
raw = st.tuples(st.sampled_from(sorted(EXAMPLES.glob("*.toml"))), st.randoms(use_true_random=False))


def as_toml(value: Any) -> str:
    """Return a value as TOML writes it, tables inline; text as JSON does, which is the same."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return str(value).lower()


def check(path: Path, data: bytes) -> None:
    """Read a plan; what a user sees of it is RequestError's one line."""
    path.write_bytes(data)
    try:
        resolve_plan(read_plan_file(path))
    except RequestError as error:
        fuzz_case.check_line(error)


#: Of the time, what Hypothesis takes: its plans are more odd, and take twenty times as long.
HYPOTHESIS = 0.1
#: CPU seconds of a plan.
CASE_S = 2.0
_WORDS = [*TIMES, *SIZES, *KNOBS, "always", "never", "on", "off", "copy", "pipe", "5%", "pc",
          "memory", "net:2", "net:10.0.2.2,rate=1M", "block:/dev/vda,size=4k", "cmd:true", "small",
          "random", "local", "idle", "none", "a", "b"]  # fmt: skip


def run(number: int, seconds: float, case: int | None = None) -> fuzz_case.Result:
    """Fuzz plan files for some seconds: with Hypothesis, and many more by a plain generator."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        path = Path(folder) / "plan.toml"
        first = fuzz_case.Result("plans")
        if case is None:
            first = run_hypothesis(path, number, HYPOTHESIS * seconds)
        plain = PlansCase(path)
        result = fuzz_case.fuzz(
            "plans", plain, number, seconds - first.seconds,
            lambda kept: kept.write_bytes(plain.data), case_s=CASE_S, only=case,
        )  # fmt: skip
    result.cases += first.cases
    result.units += first.units
    result.seconds += first.seconds
    result.cpu_seconds += first.cpu_seconds
    result.finds = first.finds | result.finds
    return result


@functools.cache
def corpus() -> list[bytes]:
    """Return plans: the examples, those of the documentation, and those that tests hold."""
    texts = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.toml"))]
    for page in sorted((EXAMPLES.parent / "docs").rglob("*.md")):
        texts += [text.encode() for text in _TOML.findall(page.read_text())]
    texts += seeds.texts_in_tests(["study"])
    return texts


@dataclass
class PlansCase:
    """A plan on disk, and its bytes."""

    path: Path
    texts: list[bytes] = field(default_factory=corpus)
    data: bytes = b""
    documents: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for text in self.texts:
            with contextlib.suppress(ValueError):
                self.documents.append(tomllib.loads(text.decode()))

    def __call__(self, chance: random.Random) -> int:
        where = chance.random()
        if where < 0.4:
            self.data = mutate(chance, chance.choice(self.texts), self.texts)
        else:
            plan = made(chance) if where < 0.7 else changed(chance, chance.choice(self.documents))
            # What Python holds and TOML does not write is refused as no TOML.
            text = "".join(f"{json.dumps(k)} = {as_toml(v)}\n" for k, v in plan.items())
            self.data = text.encode("utf-8", "replace")
        check(self.path, self.data)
        return 1


def scalar(chance: random.Random) -> Any:
    """Return a word, a number or whatever else stands in a plan."""
    where = chance.random()
    if where < 0.6:
        return chance.choice(_WORDS)
    if where < 0.85:
        return fuzz_case.number(chance) if where < 0.75 else chance.randrange(41)
    return chance.choice(
        [True, False, 0.5, float("nan"), float("inf"), -1e308, "", "\0", "x\ny", "x" * 5000]
    )


def table(chance: random.Random, names: Sequence[str], depth: int = 2) -> dict[str, Any]:
    """Return a table, in which there may be others."""
    return {chance.choice(names): value(chance, depth - 1) for _ in range(chance.randrange(4))}


def value(chance: random.Random, depth: int) -> Any:
    """Return a scalar, a list or a table."""
    where = chance.random()
    if depth <= 0 or where < 0.6:
        return scalar(chance)
    if where < 0.85:
        return [value(chance, depth - 1) for _ in range(chance.randrange(5))]
    return table(chance, _WORDS, depth)


def made(chance: random.Random) -> dict[str, Any]:
    """Return a plan with some of the keys that there are, their values right or not."""
    plan: dict[str, Any] = {
        "variants": {
            name: {chance.choice(KNOBS): scalar(chance) for _ in range(chance.randrange(3))}
            for name in chance.sample(["a", "b", "c", "../x", "A", "x" * 60], chance.randint(1, 3))
        }
    }
    for _ in range(chance.randrange(5)):
        key = chance.choice(_KEYS)
        if chance.random() < 0.2:
            plan[key] = value(chance, 3)
        elif key in _TABLES:
            plan[key] = table(chance, _TABLES[key])
        elif key in ("boards", "hits"):
            plan[key] = chance.choices([*_WORDS, "do_nanosleep in a", "x in b"], k=2)
        elif key == "looks":
            plan[key] = sorted(chance.randrange(4, 99) for _ in range(chance.randrange(4)))
        elif key == "cpus":
            plan[key] = [fuzz_case.number(chance) for _ in range(chance.randrange(3))]
        elif key in ("for", "interval", "budget", "warm_up"):
            plan[key] = chance.choice(TIMES)
        else:
            plan[key] = scalar(chance)
    if "factors" in plan:
        plan.pop("variants")
        plan["factors"] = {
            knob: [scalar(chance) for _ in range(chance.choice([1, 2, 2, 2, 2, 3]))]
            for knob in chance.sample(KNOBS, chance.randint(1, 6))
        }
    return plan


def changed(chance: random.Random, plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan in which a few values are others, or keys of another plan."""
    plan = copy.deepcopy(plan)
    if chance.random() < 0.4:
        plan |= {key: item for key, item in made(chance).items() if chance.random() < 0.5}
    if chance.random() < 0.8:
        plan = fuzz_case.damage_json(chance, plan)
    return plan


def run_hypothesis(path: Path, number: int, seconds: float) -> fuzz_case.Result:
    """Fuzz plan files with Hypothesis for some seconds."""
    result = fuzz_case.Result("plans")
    began, began_cpu = time.monotonic(), time.process_time()
    with fuzz_case.limits():

        def once(data: bytes) -> None:
            result.cases += 1
            result.units += 1
            try:
                check(path, data)
            except Exception as error:  # any: that is what is looked for
                fuzz_case._add(result, error, f"plans-h{number}-{result.cases}",
                               lambda kept: kept.write_bytes(data))  # fmt: skip

        while time.monotonic() - began < seconds:
            number += 1

            @seed(number)
            @settings(max_examples=100, database=None, deadline=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(plan=plans | good, changed=raw)
            def case(plan: dict[str, Any], changed: tuple[Path, Any]) -> None:
                text = "".join(f"{json.dumps(k)} = {as_toml(v)}\n" for k, v in plan.items())
                once(text.encode("utf-8", "replace"))
                once(fuzz_case.damage(changed[1], changed[0].read_bytes()))

            case()
    result.seconds = time.monotonic() - began
    result.cpu_seconds = time.process_time() - began_cpu
    return result
