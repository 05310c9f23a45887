"""Memory: how much, and what the kernel does with it behind a program's back."""

from __future__ import annotations

from whylate.boards.facts.reading import Files, chosen, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

MEMINFO = "/proc/meminfo"
SWAPS = "/proc/swaps"
_THP = "/sys/kernel/mm/transparent_hugepage"

WANTED = (
    FileRequest(MEMINFO, 4096),
    FileRequest(SWAPS, 1024),
    FileRequest(f"{_THP}/enabled", 64),
    FileRequest(f"{_THP}/defrag", 64),
    FileRequest(f"{_THP}/khugepaged/defrag", 16),
    FileRequest("/sys/kernel/mm/ksm/run", 16),
    FileRequest("/proc/sys/kernel/numa_balancing", 16),
    FileRequest("/proc/sys/vm/swappiness", 16),
    FileRequest("/proc/sys/vm/stat_interval", 16),
    FileRequest("/proc/sys/vm/compaction_proactiveness", 16),
    FileRequest("/proc/sys/vm/zone_reclaim_mode", 16),
)


def meminfo_kib(files: Files) -> dict[str, int]:
    """Return /proc/meminfo by name, in KiB (the page counts of HugePages_* as they are)."""
    found = {}
    for line in files.lines(MEMINFO):
        key, _, rest = line.partition(":")
        value = integer(rest.strip().partition(" ")[0])
        if value is not None and 0 <= value < 2**50:
            found[key.strip()] = value
    return found


def swap_areas(files: Files) -> list[str] | None:
    """Return the devices or files swapped to, [] for none; None if /proc/swaps is closed."""
    if files.data(SWAPS) is None:
        return None
    return [line.split()[0] for line in files.lines(SWAPS)[1:] if line.split()]


def memory_facts(files: Files) -> list[Fact]:
    """Size, huge pages, swap, and the background work: THP, KSM, compaction, NUMA balancing."""
    facts: list[Fact] = []
    sizes = meminfo_kib(files)
    for key, name in (
        ("MemTotal", "memory_total_bytes"),
        ("MemAvailable", "memory_available_bytes"),
        ("SwapTotal", "swap_total_bytes"),
        ("SwapFree", "swap_free_bytes"),
        ("Hugepagesize", "huge_page_bytes"),
    ):
        if key in sizes:
            facts.append(make_fact(name, sizes[key] * 1024, MEMINFO))
    if "HugePages_Total" in sizes:
        facts.append(make_fact("huge_pages", sizes["HugePages_Total"], MEMINFO))
    areas = swap_areas(files)
    if areas is not None:
        facts.append(make_fact("swap_areas", areas, SWAPS))
    facts += file_fact(files, "transparent_hugepage", f"{_THP}/enabled", chosen)
    facts += file_fact(files, "transparent_hugepage_defrag", f"{_THP}/defrag", chosen)
    facts += file_fact(files, "khugepaged_defrag", f"{_THP}/khugepaged/defrag", integer)
    facts += file_fact(files, "ksm", "/sys/kernel/mm/ksm/run", integer)
    facts += file_fact(files, "numa_balancing", "/proc/sys/kernel/numa_balancing", integer)
    for name in ("swappiness", "stat_interval", "compaction_proactiveness", "zone_reclaim_mode"):
        facts += file_fact(files, f"vm_{name}", f"/proc/sys/vm/{name}", integer)
    return facts
