"""What the fuzzers share: a loop with a limit of time, what a find is, and values at the bounds."""

from __future__ import annotations

import random
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Where inputs that found something are kept.
KEPT = Path(__file__).parents[2] / "build" / "fuzz"
#: A single case that takes more time of a CPU has found something.
CASE_S = 20.0
#: Characters of a refusal.
LONGEST_LINE = 2000
#: Memory of the whole fuzzer: MemoryError is a find.
MEMORY = 4 << 30
#: Numbers that programs get wrong.
BOUNDS = [0, 1, 2, -1, 63, 127, 128, 255, 256, 65535, 65536, 50_000, 10**9, 10**10, 2_592 * 10**12]
BOUNDS += [
    n + d for n in (1 << 31, 1 << 32, 1 << 53, 1 << 62, 1 << 63, 1 << 64) for d in (-1, 0, 1)
]


@dataclass
class Find:
    """An exception that no reader may raise, or a case that took too long."""

    text: str
    kept: Path


@dataclass
class Result:
    """What a fuzzer did."""

    name: str
    cases: int = 0
    #: Frames or files within the cases, where that is another number.
    units: int = 0
    seconds: float = 0.0
    #: Of a CPU: on a busy machine fewer than went by.
    cpu_seconds: float = 0.0
    finds: dict[str, Find] = field(default_factory=dict)


class TooSlowError(Exception):
    """A case took longer than CASE_S."""


def _too_slow(*_: object) -> None:
    raise TooSlowError


@contextmanager
def limits() -> Iterator[None]:
    """Bound the memory of this process, and the CPU time of a case."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _too_slow)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def fuzz(
    name: str,
    case: Callable[[random.Random], int],
    seed: int,
    seconds: float,
    keep: Callable[[Path], object],
    *,
    case_s: float | None = None,
    only: int | None = None,
) -> Result:
    """Run a case with one random generator after the other, until the time is over.

    case: returns how many units it made; what it raises is a find, once for each place in the
    code. keep: writes the input of the last case to a path. case_s: seconds of a CPU for a case;
    None: CASE_S. only: run this case alone, as it is in a run with that seed, and raise its error.
    """
    result = Result(name)
    limit_s = CASE_S if case_s is None else case_s
    if only is not None:
        with limits():
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            result.units, result.cases = case(random.Random(f"{name} {seed} {only}")), 1
            return result
    began, began_cpu = time.monotonic(), time.process_time()
    with limits():
        while (now := time.monotonic()) - began < seconds:
            chance = random.Random(f"{name} {seed} {result.cases}")
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            try:
                result.units += case(chance)
            except Exception as error:  # any: that is what is looked for
                signal.setitimer(signal.ITIMER_PROF, 0)
                _add(result, error, f"{name}-{seed}-{result.cases}", keep)
            result.cases += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
    result.seconds = now - began
    result.cpu_seconds = time.process_time() - began_cpu
    return result


def _add(result: Result, error: Exception, name: str, keep: Callable[[Path], object]) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "whylate" in frame.filename] or frames
    place = f"{type(error).__name__} {Path(own[-1].filename).name}:{own[-1].lineno}"
    if place in result.finds:
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    keep(KEPT / name)
    text = "".join(traceback.format_exception(error))
    (KEPT / f"{name}.txt").write_text(text, errors="backslashreplace")
    result.finds[place] = Find(text, KEPT / name)


def check_line(error: Exception) -> None:
    """Raise AssertionError for a refusal that is no line with a reason, or an endless one."""
    text = str(error)
    assert text.strip(), "a refusal without a reason"
    assert "\n" not in text, f"a refusal of {text.count(chr(10)) + 1} lines"
    assert len(text) < LONGEST_LINE, f"a refusal of {len(text)} characters"


def fast_folder() -> str | None:
    """Return a place where fsync costs nothing, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - only while it runs


def number(chance: random.Random) -> int:
    """Return a number: mostly one at a bound."""
    return chance.choice(BOUNDS) if chance.random() < 0.8 else chance.getrandbits(64)


def damage(chance: random.Random, data: bytes, most: int = 8) -> bytes:
    """Return bytes with a few changed, removed, doubled or inserted."""
    raw = bytearray(data)
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(raw) + 1)
        length = chance.choice([1, 1, 2, 4, 8, 64, 1000])
        match chance.randrange(5):
            case 0 if at < len(raw):
                raw[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            case 1:
                del raw[at : at + length]
            case 2:
                raw[at:at] = raw[at : at + length]
            case 3:
                raw[at:at] = chance.randbytes(length)
            case _ if chance.random() < 0.2:
                del raw[at:]
    return bytes(raw)


def damage_json(chance: random.Random, value: Any) -> Any:
    """Return a document with a few of its scalars, keys or lists changed; value is changed."""
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        places = list(_places(value))
        if not places:
            return value
        integers = [place for place in places if type(place[0][place[1]]) is int]
        holder, key = chance.choice(integers if integers and chance.random() < 0.6 else places)
        holder[key] = _other(chance, holder[key])
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _other(chance: random.Random, value: Any) -> Any:
    if isinstance(value, bool) or chance.random() < 0.1:
        return chance.choice([None, True, False, "", {}, [], 0, "x" * 5000, -0.0, 1e308, 5e-324])
    if isinstance(value, int):
        return number(chance)
    if isinstance(value, float):
        return chance.choice([0.0, -1.0, 1e308, -1e308, 5e-324, float(number(chance))])
    if isinstance(value, str):
        return chance.choice(
            ["", "\0", "\ud7ff\u202e", "x" * 5000, value + "x", "../x", "-1", "1e999"]
        )
    if isinstance(value, list):
        return chance.choice([[], value * 2, value[:1] * 1000, value[::-1]])
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if chance.random() < 0.7}
    return number(chance)
