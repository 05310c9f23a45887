"""The kernel, its machine and its memory, as the boot log reports them.

Lines: Linux, init/main.c, mm/mm_init.c, mm/hugetlb.c, kernel/smp.c and their like under arch/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts import cmdline
from whylate.boards.facts.bootlog.log import BootLog, Derived, EveryLine, FirstLine, LogLine, Row
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


def _kernel(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_VERSION)) is None:
        return
    match, line = first
    yield log.fact("boot_kernel", match[1], line)
    if (compiler := _COMPILER.search(match[2])) is not None:
        yield log.fact("boot_kernel_compiler", compiler[1].rstrip(") "), line)
    # The banner names no model where the kernel is built to preempt little, or not at all.
    model = "not named: none or voluntary"
    if (preemption := _PREEMPTION.search(match[2])) is not None:
        model = f"PREEMPT{preemption[1] or ''}".replace(" ", "_")
    yield log.fact("boot_kernel_preemption", model, line)


def _machine(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_MACHINE) or log.first(_DMI)) is not None:
        yield log.fact("boot_machine", first[0][1], first[1])


def _command_line(log: BootLog) -> Iterator[Fact]:
    """Its source is only the line's beginning: the rest may hold secrets."""
    for pattern in (_COMMAND_LINE, _X86_COMMAND_LINE):
        if (first := log.first(pattern)) is None:
            continue
        match, line = first
        parts = [match[1]]
        # Newer kernels break a long one, and end all its pieces but the last with a backslash.
        following = iter(log.lines[log.lines.index(line) + 1 :])
        while parts[-1].endswith("\\") and (next_line := next(following, None)) is not None:
            again = pattern.match(next_line.text)
            parts[-1] = parts[-1].removesuffix("\\")
            parts.append(again[1] if again is not None else "")
        words = cmdline.parameters(clean(" ".join(parts), 16384))
        shown = LogLine(line.time_s, line.text.partition(":")[0] + ": …")
        yield log.fact("boot_command_line", words, shown, limit=256)
        return


def _kibibytes(text: str) -> int:
    return int(text) * 1024


SYSTEM: tuple[Row, ...] = (
    Derived(_kernel),
    Derived(_machine),
    Derived(_command_line),
    FirstLine(
        _MEMORY,
        (
            ("boot_memory_available_bytes", 1, _kibibytes),
            ("boot_memory_total_bytes", 2, _kibibytes),
        ),
    ),
    EveryLine(
        "boot_huge_page_sizes", _HUGE, 2, lambda _, match: f"{match[1]}, {match[2]} allocated"
    ),
    FirstLine(_CPUS, (("boot_cpus", 2, int), ("boot_numa_nodes", 1, int))),
)
