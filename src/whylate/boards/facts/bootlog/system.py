"""The kernel's own account of itself: which it is, how it was started, its memory and its CPUs.

Lines: Linux, init/main.c, mm/mm_init.c, mm/hugetlb.c, kernel/smp.c and their like under arch/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts import cmdline
from whylate.boards.facts.bootlog.log import BootLog, LogLine
from whylate.boards.facts.reading import clean
from whylate.recording.manifest import Fact

_VERSION = re.compile(r"Linux version (\S{1,100}) (?:\([^)]{0,200}\) )?(.{0,1000})")
_COMPILER = re.compile(r"\(?((?:gcc|clang|[\w-]{1,60}-gcc)\b[^,#]{0,160})")
_PREEMPTION = re.compile(r"#\d{1,9} .{0,40}?\bPREEMPT(_RT|_DYNAMIC|_LAZY| RT)?\b")
_COMMAND_LINE = re.compile(r"Kernel command line: (.*)", re.DOTALL)
_X86_COMMAND_LINE = re.compile(r"Command line: (.*)", re.DOTALL)
_MACHINE = re.compile(r"(?:OF: fdt: |OF: fdt:)?Machine(?: model)?: (.{1,120})")
_DMI = re.compile(r"DMI: (.{1,160})")
_MEMORY = re.compile(r"Memory: (\d{1,15})[Kk]B?/(\d{1,15})[Kk]B? available")
_CPUS = re.compile(
    r"(?:smp: |SMP: |x86: )?(?:Brought up|Booted up)(?: (\d{1,6}) nodes?,)? (\d{1,6}) CPUs?"
)
_HUGE = re.compile(
    r"HugeTLB:? registered (\d{1,9}(?:\.\d{1,3})? [KMGT]iB) page size, pre-allocated (\d{1,9})"
)


def boot_system_facts(log: BootLog) -> list[Fact]:
    """Kernel, machine, command line without its secrets, memory, huge pages and CPUs."""
    return [*_kernel(log), *_machine(log), *_command_line(log), *_memory(log), *_cpus(log)]


def _kernel(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_VERSION)) is None:
        return
    match, line = found
    yield log.fact("boot_kernel", match[1], line)
    if (compiler := _COMPILER.search(match[2])) is not None:
        yield log.fact("boot_kernel_compiler", compiler[1].rstrip(") "), line)
    preemption = _PREEMPTION.search(match[2])
    said = "" if preemption is None else f"PREEMPT{preemption[1] or ''}".replace(" ", "_")
    # The banner names no model where the kernel is built to preempt little, or not at all.
    yield log.fact("boot_kernel_preemption", said or "not named: none or voluntary", line)


def _machine(log: BootLog) -> Iterator[Fact]:
    for pattern in (_MACHINE, _DMI):
        if (found := log.first(pattern)) is not None:
            yield log.fact("boot_machine", found[0][1], found[1])
            return


def _command_line(log: BootLog) -> Iterator[Fact]:
    """Without the line itself: it may hold secrets, and is whole in the value without them."""
    for pattern in (_COMMAND_LINE, _X86_COMMAND_LINE):
        if (found := log.first(pattern)) is None:
            continue
        parts = [found[0][1]]
        # Newer kernels break a long one, and end all its pieces but the last with a backslash.
        following = iter(log.lines[log.lines.index(found[1]) + 1 :])
        while parts[-1].endswith("\\") and (line := next(following, None)) is not None:
            again = pattern.match(line.text)
            parts[-1] = parts[-1].removesuffix("\\")
            parts.append(again[1] if again is not None else "")
        words = cmdline.parameters(clean(" ".join(parts), 16384))
        said = LogLine(found[1].time_s, found[1].text.partition(":")[0] + ": …")
        yield log.fact("boot_command_line", words, said, limit=256)
        return


def _memory(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_MEMORY)) is not None:
        match, line = found
        yield log.fact("boot_memory_available_bytes", int(match[1]) * 1024, line)
        yield log.fact("boot_memory_total_bytes", int(match[2]) * 1024, line)
    sizes = list(log.all(_HUGE))
    if sizes:
        texts = [f"{match[1]}, {match[2]} allocated" for match, _ in sizes]
        yield log.fact("boot_huge_page_sizes", texts, *(line for _, line in sizes[:2]))


def _cpus(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_CPUS)) is not None:
        match, line = found
        yield log.fact("boot_cpus", int(match[2]), line)
        if match[1] is not None:
            yield log.fact("boot_numa_nodes", int(match[1]), line)
