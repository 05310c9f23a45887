"""Which CPUs there are, and what they share: cores, packages, caches, memory nodes."""

from __future__ import annotations

from whylate.boards.facts.reading import Files, cpu_fact, cpu_list, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

_SYSTEM = "/sys/devices/system/cpu"
_CPUS = f"{_SYSTEM}/cpu[0-9]*"

WANTED = (
    *(
        FileRequest(f"{_SYSTEM}/{name}", 256)
        for name in ("online", "possible", "present", "isolated", "nohz_full")
    ),
    FileRequest(f"{_SYSTEM}/smt/control", 32),
    FileRequest(f"{_SYSTEM}/smt/active", 16),
    FileRequest(f"{_CPUS}/topology/physical_package_id", 16),
    FileRequest(f"{_CPUS}/topology/core_id", 16),
    FileRequest(f"{_CPUS}/topology/thread_siblings_list", 64),
    FileRequest(f"{_CPUS}/cpu_capacity", 16),
    FileRequest(f"{_CPUS}/cache/index[0-9]*/level", 8),
    FileRequest(f"{_CPUS}/cache/index[0-9]*/type", 16),
    FileRequest(f"{_CPUS}/cache/index[0-9]*/size", 16),
    FileRequest(f"{_CPUS}/cache/index[0-9]*/shared_cpu_list", 256),
    FileRequest("/sys/devices/system/node/node[0-9]*/cpulist", 256),
    FileRequest("/sys/devices/virtual/workqueue/cpumask", 256),
)


def caches(files: Files) -> list[str]:
    """Each distinct cache: level, type, size, how many CPUs share one, and how many there are."""
    seen: dict[tuple[str, str, str, int], set[str]] = {}
    for _, path in files.match(f"{_SYSTEM}/cpu*/cache/index*/level"):
        at = path.removesuffix("/level")
        shared = files.text(f"{at}/shared_cpu_list") or "?"
        sharers = len(cpu_list(shared) or [])
        key = (
            files.text(path) or "?",
            files.text(f"{at}/type") or "?",
            files.text(f"{at}/size") or "size ?",
            sharers,
        )
        seen.setdefault(key, set()).add(shared)
    return [
        f"L{level} {kind} {size}, one per {sharers or '?'} CPU(s), {len(groups)} in all"
        for (level, kind, size, sharers), groups in sorted(seen.items())
    ]


def sibling_groups(files: Files) -> list[str] | None:
    """Return groups of CPUs that are threads of one core ("0,4"); [] without SMT, None unknown."""
    siblings = files.by_cpu("topology/thread_siblings_list")
    if not siblings:
        return None
    return sorted({text for text in siblings.values() if len(cpu_list(text) or []) > 1})


def cpus_now(files: Files, which: str) -> list[int] | None:
    """Return the CPUs of /sys/devices/system/cpu/`which` ("online", "isolated", ...), or None."""
    text = files.text(f"{_SYSTEM}/{which}", 4096)
    # nohz_full prints "(null)" on some kernels where it is built in and not used.
    return None if text is None else [] if text == "(null)" else cpu_list(text)


def topology_facts(files: Files) -> list[Fact]:
    """CPUs, cores, packages, SMT, caches and memory nodes."""
    facts: list[Fact] = []
    for which in ("online", "possible", "present", "isolated", "nohz_full"):
        facts += file_fact(files, f"cpus_{which}", f"{_SYSTEM}/{which}")
    packages = files.by_cpu("topology/physical_package_id")
    cores = files.by_cpu("topology/core_id")
    if packages:
        source = f"{_SYSTEM}/cpu*/topology"
        facts.append(make_fact("cpu_packages", len(set(packages.values())), source))
        pairs = {(packages.get(cpu), core) for cpu, core in cores.items()}
        facts.append(make_fact("cpu_cores", len(pairs), source))
    groups = sibling_groups(files)
    if groups is not None:
        source = f"{_SYSTEM}/cpu*/topology/thread_siblings_list"
        facts.append(make_fact("smt_siblings", groups, source))
    facts += file_fact(files, "smt_control", f"{_SYSTEM}/smt/control")
    facts += file_fact(files, "smt_active", f"{_SYSTEM}/smt/active", integer)
    facts += cpu_fact(files, "cpu_capacity", "cpu_capacity")
    found = caches(files)
    if found:
        facts.append(make_fact("caches", found, f"{_SYSTEM}/cpu*/cache"))
    nodes = [
        f"node {number}: {files.text(path) or 'no CPUs'}"
        for (number,), path in files.match("/sys/devices/system/node/node*/cpulist")
    ]
    if nodes:
        facts.append(make_fact("numa_nodes", nodes, "/sys/devices/system/node/node*/cpulist"))
    facts += file_fact(files, "workqueue_cpus", "/sys/devices/virtual/workqueue/cpumask")
    return facts
