"""The processors: model, features, mitigations, and what they share (cores, caches, nodes)."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.boards.facts.reading import CPUS, Files, cpu_list, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromCpus, FromFile, Source
from whylate.recording.manifest import Fact
from whylate.text import clean

CPUINFO = "/proc/cpuinfo"
_VULNERABILITIES = f"{CPUS}/vulnerabilities/*"
_NODES = "/sys/devices/system/node/node*/cpulist"

#: MIDR implementer and part numbers, Arm's "Main ID Register" as /proc/cpuinfo prints them.
_ARM_PARTS = """
c05 Cortex-A5, c07 Cortex-A7, c08 Cortex-A8, c09 Cortex-A9, c0e Cortex-A17, c0f Cortex-A15,
d01 Cortex-A32, d02 Cortex-A34, d03 Cortex-A53, d04 Cortex-A35, d05 Cortex-A55, d07 Cortex-A57,
d08 Cortex-A72, d09 Cortex-A73, d0a Cortex-A75, d0b Cortex-A76, d0c Neoverse-N1,
d0d Cortex-A77, d0e Cortex-A76AE, d40 Neoverse-V1, d41 Cortex-A78, d42 Cortex-A78AE,
d44 Cortex-X1, d46 Cortex-A510, d47 Cortex-A710, d49 Neoverse-N2, d4f Neoverse-V2,
d80 Cortex-A520, d81 Cortex-A720
"""
_ARM_NAMES = {int(part, 16): name for part, name in map(str.split, _ARM_PARTS.split(","))}
_ARM_LIMITED = 0x41

#: Keys of /proc/cpuinfo, and the facts that have their values.
_CPUINFO_FACTS = {
    "microcode": "cpu_microcode",
    "cpu family": "cpu_family",
    "model": "cpu_model_number",
    "stepping": "cpu_stepping",
    "address sizes": "cpu_address_sizes",
    "bugs": "cpu_bugs",
    "Hardware": "cpu_hardware",
}


def read_processors(files: Files) -> list[dict[str, str]]:
    """Return the paragraphs of /proc/cpuinfo as mappings, keys and values clean.

    ARM's closing paragraph (Hardware, Revision) has no key "processor". Its Serial is dropped: it
    identifies a specimen, and nothing here depends on it.
    """
    processors: list[dict[str, str]] = []
    entry: dict[str, str] = {}
    for line in files.lines(CPUINFO):
        key_text, colon, value_text = line.partition(":")
        key = clean(key_text, 40)
        if (not key or key == "processor") and entry:
            processors.append(entry)
            entry = {}
        if colon and key and key != "Serial":
            # A flags line has some 2,000 characters.
            entry[key] = clean(value_text, 8000)
    return [*processors, entry] if entry else processors


def read_features(files: Files) -> list[str]:
    """Return the first processor's feature flags, as x86, ARM or RISC-V name them."""
    for processor in read_processors(files):
        for key in ("flags", "Features", "isa"):
            if key in processor:
                return processor[key].split(" ")
    return []


def arm_name(processor: dict[str, str]) -> str | None:
    """Return "Cortex-A72 r0p3" from ARM's identification fields, numbers for unknown parts."""
    implementer, part = _hex(processor, "CPU implementer"), _hex(processor, "CPU part")
    if implementer is None or part is None:
        return None
    known = _ARM_NAMES.get(part) if implementer == _ARM_LIMITED else None
    name = known or f"implementer {implementer:#04x} part {part:#05x}"
    variant, revision = _hex(processor, "CPU variant"), integer(processor.get("CPU revision", ""))
    if variant is None or revision is None:
        return name
    return f"{name} r{variant}p{revision}"


def _hex(processor: dict[str, str], key: str) -> int | None:
    digits = processor.get(key, "").removeprefix("0x")
    if not 0 < len(digits) <= 8 or not digits.isalnum() or not digits.isascii():
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


def read_model(files: Files) -> str | None:
    """Return the processors' model; different models are joined with " + " (big.LITTLE)."""
    names: list[str] = []
    for processor in read_processors(files):
        if "processor" not in processor:
            continue
        name = arm_name(processor) or processor.get("model name") or processor.get("uarch")
        if name and name not in names:
            names.append(name)
    return " + ".join(names[:8]) or None


def _cpuinfo(files: Files) -> Iterator[Fact]:
    if (error := files.closed(CPUINFO)) is not None:
        yield make_fact("cpu_model", None, f"{CPUINFO}: not readable ({error})")
    else:
        yield make_fact("cpu_model", read_model(files), CPUINFO)
    if features := read_features(files):
        yield make_fact("cpu_features", features, CPUINFO, limit=256)
    processors = read_processors(files)
    for key, name in _CPUINFO_FACTS.items():
        values = dict.fromkeys(entry[key] for entry in processors if entry.get(key))
        if values:
            yield make_fact(name, " + ".join(list(values)[:8]), CPUINFO)


def _mitigations(files: Files) -> Iterator[Fact]:
    """Each CPU weakness that is not "Not affected", with what the kernel does about it."""
    texts = {name: files.text(path) for (name,), path in files.match(_VULNERABILITIES)}
    if texts:
        harmless = {None, "Not affected"}
        lines = [f"{name}: {text}" for name, text in texts.items() if text not in harmless]
        yield make_fact("mitigations", lines, _VULNERABILITIES)


def _frequency(files: Files) -> Iterator[Fact]:
    if files.probe.cpu_frequencies:
        measured = [f"cpu {f.cpu}: {f.hz / 1e6:.0f} MHz" for f in files.probe.cpu_frequencies]
        yield make_fact("cpu_frequency_measured", measured, "timed by the probe")


PROCESSORS: tuple[Source, ...] = (
    # x86 prints about 1.3 KiB per CPU, nearly all of it the same.
    Derived(_cpuinfo, (FileRequest(CPUINFO, 64 * 1024),)),
    Derived(_mitigations, (FileRequest(_VULNERABILITIES, 256),)),
    Derived(_frequency),
)


def read_cpus(files: Files, name: str) -> list[int] | None:
    """Return the CPUs that are "online", "isolated", ...; None where that is not readable."""
    text = files.text(f"{CPUS}/{name}", 4096)
    # nohz_full prints "(null)" on some kernels where it is built in and not used.
    return None if text is None else [] if text == "(null)" else cpu_list(text)


def _cores(files: Files) -> Iterator[Fact]:
    source = f"{CPUS}/cpu*/topology"
    packages = files.by_cpu("topology/physical_package_id")
    cores = files.by_cpu("topology/core_id")
    if packages:
        yield make_fact("cpu_packages", len(set(packages.values())), source)
        pairs = {(packages.get(cpu), core) for cpu, core in cores.items()}
        yield make_fact("cpu_cores", len(pairs), source)
    if siblings := files.by_cpu("topology/thread_siblings_list"):
        groups = sorted({text for text in siblings.values() if len(cpu_list(text) or []) > 1})
        yield make_fact("smt_siblings", groups, f"{source}/thread_siblings_list")


def _caches(files: Files) -> Iterator[Fact]:
    """Each distinct cache: level, type, size, how many CPUs share one, and their number."""
    groups: dict[tuple[str, str, str, int], set[str]] = {}
    for _, path in files.match(f"{CPUS}/cpu*/cache/index*/level"):
        directory = path.removesuffix("/level")
        shared = files.text(f"{directory}/shared_cpu_list") or "?"
        key = (
            files.text(path) or "?",
            files.text(f"{directory}/type") or "?",
            files.text(f"{directory}/size") or "size ?",
            len(cpu_list(shared) or []),
        )
        groups.setdefault(key, set()).add(shared)
    if groups:
        lines = [
            f"L{level} {kind} {size}, one per {sharers or '?'} CPU(s), {len(lists)} in all"
            for (level, kind, size, sharers), lists in sorted(groups.items())
        ]
        yield make_fact("caches", lines, f"{CPUS}/cpu*/cache")


def _nodes(files: Files) -> Iterator[Fact]:
    nodes = [
        f"node {number}: {files.text(path) or 'no CPUs'}" for (number,), path in files.match(_NODES)
    ]
    if nodes:
        yield make_fact("numa_nodes", nodes, _NODES)


def _cpu_requests(*files: tuple[str, int]) -> tuple[FileRequest, ...]:
    return tuple(FileRequest(f"{CPUS}/cpu[0-9]*/{file}", limit) for file, limit in files)


TOPOLOGY: tuple[Source, ...] = (
    *(
        FromFile(f"cpus_{name}", f"{CPUS}/{name}", 256)
        for name in ("online", "possible", "present", "isolated", "nohz_full")
    ),
    Derived(
        _cores,
        _cpu_requests(
            ("topology/physical_package_id", 16),
            ("topology/core_id", 16),
            ("topology/thread_siblings_list", 64),
        ),
    ),
    FromFile("smt_control", f"{CPUS}/smt/control", 32),
    FromFile("smt_active", f"{CPUS}/smt/active", 16, integer),
    FromCpus("cpu_capacity", "cpu_capacity", 16),
    Derived(
        _caches,
        _cpu_requests(
            ("cache/index[0-9]*/level", 8),
            ("cache/index[0-9]*/type", 16),
            ("cache/index[0-9]*/size", 16),
            ("cache/index[0-9]*/shared_cpu_list", 256),
        ),
    ),
    Derived(_nodes, (FileRequest("/sys/devices/system/node/node[0-9]*/cpulist", 256),)),
    FromFile("workqueue_cpus", "/sys/devices/virtual/workqueue/cpumask", 256),
)
