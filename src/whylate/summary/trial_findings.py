"""What trials show by themselves, in sentences: each is said only where its figures bear it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.point_names import series_names, size_text
from whylate.recording.workloads.switch import SwitchPoint
from whylate.summary.backing import HUGE_ZERO_PAGE, ZERO_PAGE
from whylate.summary.trial_model import Finding, Measured, NetworkFigures, PointFigures

#: Parts of the switches that flush: few, and most. What lies between is neither.
_FEW, _MOST = 0.2, 0.5
#: What an x86 kernel keeps for each CPU (TLB_NR_DYN_ASIDS, arch/x86/include/asm/tlbflush.h).
_X86_IDENTIFIERS = 6
#: Two zero pages say nothing whose copies do not surely differ by so much.
_APART = 1.3
#: Readers share a clock where surely this part of a call and more is spent in turns.
_SHARED = 0.2
#: By fewer numbers of threads nothing tells a clock that is shared from CPUs that slow each other
#: down (two threads of one core, a frequency that falls with the load).
_FEWEST_COUNTS = 3
#: A network that lies further from what it was fitted to, as a factor, is none.
_FITS = 1.1


@dataclass(frozen=True)
class Machine:
    """What is known of a board that figures are told by; None: not known.

    name: what uname says. clock_source: the kernel's own. asid_entries: for how many address spaces
    an Arm kernel said that it has identifiers. pcid: whether an x86 CPU has any.
    """

    name: str | None = None
    clock_source: str | None = None
    asid_entries: int | None = None
    pcid: bool | None = None

    @property
    def is_arm(self) -> bool:
        """Whether it is of Arm, of 32 bits or of 64."""
        return self.name is not None and self.name.startswith(("arm", "aarch64"))


_UNKNOWN = Machine()


def findings(
    points: Sequence[PointFigures],
    networks: Sequence[NetworkFigures],
    machine: Machine = _UNKNOWN,
) -> list[Finding]:
    """Return what the figures show."""
    measured = [one for one in points if not one.refused]
    kind = type(measured[0].point) if measured else None
    if kind is SwitchPoint:
        return _switch(measured, machine)
    if kind is MemoryPoint:
        return [*_untouched(measured), *_zero_pages(measured)]
    if kind is ClockPoint:
        return [*_calls(measured, machine.clock_source), *_shared(networks)]
    return []


def _switch(points: Sequence[PointFigures], machine: Machine) -> list[Finding]:
    found = []
    for name, series in _series(points, "tasks").items():
        of = f" ({name})" if name else ""
        told = [one for one in series if isinstance(_flushes(one), float)]
        few = [at for at, one in enumerate(told) if _flushes(one) < _FEW]
        most = [at for at, one in enumerate(told) if _flushes(one) >= _MOST]
        # All few lie before all of most, and what is neither between them: else it is no limit.
        if few and most and most[0] == len(told) - len(most) and few[-1] == len(few) - 1:
            text = _cliff(told[few[-1]], told[most[0]], machine)
            found.append(Finding("identifiers", text + of))
        elif told and len(most) == len(told) and _take_turns(told):
            found.append(Finding("always-flushed", _always(told[0], machine) + of))
    if not found and machine.is_arm and any(map(_one_cpu, points)):
        found.append(Finding("identifiers-not-told", _not_told(machine)))
    return found


def _flushes(one: PointFigures) -> float:
    return one.facts.get("flushes_per_switch")  # type: ignore[return-value]


def _ring(one: PointFigures) -> SwitchPoint:
    assert isinstance(one.point, SwitchPoint)  # noqa: S101 (chosen by its type)
    return one.point


def _one_cpu(one: PointFigures) -> bool:
    """Whether address spaces take turns on one CPU there."""
    ring = _ring(one)
    return ring.tasks > 1 and not ring.threads and len(set(ring.cpus)) == 1


def _take_turns(series: Sequence[PointFigures]) -> bool:
    return all(map(_one_cpu, series))


def _cliff(below: PointFigures, above: PointFigures, machine: Machine) -> str:
    few, many = _ring(below), _ring(above)
    text = (
        f"with {few.tasks} tasks {_flushes(below):.3f} of the switches flush the CPU's translation "
        f"buffer, and with {many.tasks} tasks {_flushes(above):.3f}"
    )
    if not _one_cpu(above):
        return text
    text += ": more address spaces take turns on the CPU than it has identifiers for"
    if machine.name == "x86_64" and few.tasks <= _X86_IDENTIFIERS < many.tasks:
        text += f", of which an x86 kernel keeps {_X86_IDENTIFIERS}"
    return text


def _always(fewest: PointFigures, machine: Machine) -> str:
    tasks = _ring(fewest).tasks
    text = (
        f"already with {tasks} tasks, the fewest of these, {_flushes(fewest):.3f} of the switches "
        "flush the CPU's translation buffer"
    )
    if machine.name != "x86_64":
        return text
    if machine.pcid is False:
        return f"{text}: this CPU, or what it is emulated by, has no identifiers (no pcid)"
    if tasks > _X86_IDENTIFIERS:
        return (
            f"{text}: an x86 kernel keeps identifiers for {_X86_IDENTIFIERS} address spaces on "
            f"each CPU; --tasks 2,{_X86_IDENTIFIERS},{tasks} shows what fewer cost"
        )
    return f"{text}: the kernel uses no identifiers (nopcid), or other tasks take turns there too"


def _not_told(machine: Machine) -> str:
    # Of 32 bits they always have 8.
    entries = machine.asid_entries or (256 if (machine.name or "").startswith("armv") else None)
    has = (
        f"it has identifiers for {entries:,} address spaces"
        if entries is not None
        else "identifiers of 8 or 16 bits are there for 256 or 65,536 address spaces, or for half "
        "of that where a process takes two"
    )
    return (
        f"this kernel does not tell when it flushes the translation buffer; {has}, and flushes "
        "all CPUs when these have been used up"
    )


def _untouched(points: Sequence[PointFigures]) -> list[Finding]:
    pages = {
        ZERO_PAGE: "one page of zeros, of 4 KiB",
        HUGE_ZERO_PAGE: "one huge page of zeros, of 2 MiB",
    }
    found = []
    for backing, what in pages.items():
        names = [one.name for one in points if one.facts.get("backing") == backing]
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            found.append(
                Finding(
                    "zero-page",
                    f"{names[0]}{more}: nothing was ever written to the source, and all of it is "
                    f"{what}: this is how fast the target is written; --source random reads data",
                )
            )
    return found


def _zero_pages(points: Sequence[PointFigures]) -> list[Finding]:
    """Compare copies from the two pages of zeros, and the same once the source was written."""
    rates: dict[tuple[str, int, str], dict[str, Measured]] = defaultdict(dict)
    for one in points:
        point = one.point
        if isinstance(point, MemoryPoint) and "gb_per_s" in one.figures and point.what == "copy":
            written = "untouched" if point.source == "untouched" else "written"
            backing = str(one.facts.get("target_backing"))
            rates[(written, point.size, point.routine)][backing] = one.figures["gb_per_s"]
    found = []
    for (written, size, routine), by_backing in rates.items():
        small, huge = (by_backing.get(name) for name in ("small pages", "transparent huge pages"))
        if written != "untouched" or small is None or huge is None:
            continue
        if small.low is None or huge.high is None or small.low < _APART * huge.high:
            continue
        text = (
            f"copying {size_text(size)} from the small page of zeros into small pages is × "
            f"{small.value / huge.value:.2f} as fast as from the huge one into huge pages"
        )
        again = rates.get(("written", size, routine), {})
        pair = [again.get(name) for name in ("small pages", "transparent huge pages")]
        if pair[0] and pair[1]:
            text += f"; once the source is written it is × {pair[0].value / pair[1].value:.2f}"
        found.append(Finding("two-zero-pages", text))
    return found


def _calls(points: Sequence[PointFigures], clock_source: str | None) -> list[Finding]:
    called = [
        (one.name, one.point.clock)
        for one in points
        if isinstance(one.point, ClockPoint)
        and one.point.how == "libc"
        and one.point.clock.startswith(("realtime", "monotonic", "boottime", "tai"))
        and one.facts.get("system_call") is True
    ]
    if not called:
        return []
    name, clock = called[0]
    more = f" and {len(called) - 1} more" if len(called) > 1 else ""
    # Of the others older kernels make a system call whatever the source is.
    named = clock_source and clock in ("realtime", "monotonic")
    source = f": the clock source is {clock_source}" if named else ""
    return [
        Finding(
            "system-call",
            f"{name}{more}: reading it is a system call here, which the C library makes where "
            f"the kernel lets no program read the clock by itself{source}",
        )
    ]


def _shared(networks: Sequence[NetworkFigures]) -> list[Finding]:
    found = []
    for one in networks:
        low, think = one.service_ns.low, one.think_ns.high
        if low is None or think is None or len(one.threads) < _FEWEST_COUNTS:
            continue
        if one.misfit is not None and one.misfit <= _FITS and low > _SHARED * (think + low):
            most = 1e3 / one.service_ns.value
            found.append(
                Finding(
                    "shared-clock",
                    f"{one.name}: its readers take as long as if they were served one after the "
                    f"other for {one.service_ns.value:.0f} ns of each call; of any more of them "
                    f"about {most:.3g} calls a µs together are predicted",
                )
            )
    return found


def _series(points: Sequence[PointFigures], field: str) -> dict[str, list[PointFigures]]:
    """Return the points of each setting of all that is not swept, by what is swept."""
    rests: list[BenchmarkPoint] = [
        msgspec.structs.replace(one.point, **{field: 1}) for one in points
    ]
    names = series_names(rests) if len(set(rests)) > 1 else [""] * len(rests)
    found: dict[str, list[PointFigures]] = defaultdict(list)
    for one, name in zip(points, names, strict=True):
        found[name].append(one)
    for series in found.values():
        series.sort(key=lambda one: float(getattr(one.point, field)))
    return found
