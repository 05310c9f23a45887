"""Plan files: whatever a user writes is a plan or one clear line."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import fuzz_case
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from whylate.run.errors import RequestError
from whylate.study.plan_file import read_plan_file, resolve_plan

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMES = ["20s", "1ms", "0s", "-1s", "1e99s", "30d", "31d", "99999999999999999999s", "50us", "1ns"]
SIZES = ["64K", "1M", "0", "-1", "99999999999999T", "64", "4K-1M", "1e9"]
KNOBS = ["thp", "priority", "recorder", "idle-states", "sysctl:vm.swappiness", "env:A", "image",
         "kernel", "workload:sizes", "workload:tasks", "command:fan", "sysfs:a"]  # fmt: skip
numbers = st.sampled_from(fuzz_case.BOUNDS) | st.integers(-(1 << 70), 1 << 70)
words = st.sampled_from([*TIMES, *SIZES, "always", "never", "on", "off", "copy", "pipe", "5%", "pc",
                         "memory", "net:2", "cmd:true", "small", "random", "local"])  # fmt: skip
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
        if not str(error):
            raise AssertionError("a refusal without a reason") from error


def run(number: int, seconds: float) -> fuzz_case.Result:
    """Fuzz plan files for some seconds."""
    result = fuzz_case.Result("plans")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, fuzz_case.limits():
        path = Path(folder) / "plan.toml"

        def once(data: bytes) -> None:
            result.cases += 1
            result.units += 1
            try:
                check(path, data)
            except Exception as error:  # any: that is what is looked for
                fuzz_case._add(result, error, f"plans-{number}-{result.cases}",
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
    return result
