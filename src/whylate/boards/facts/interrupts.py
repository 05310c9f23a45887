"""Interrupts: which there are, where they go, and whether their handlers run as threads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whylate.boards.facts import cmdline
from whylate.boards.facts.reading import CPU_LIMIT, Files, cpu_list, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, Source
from whylate.recording.manifest import Fact
from whylate.text import clean

INTERRUPTS = "/proc/interrupts"
_AFFINITY = "/proc/irq/*/smp_affinity_list"
_EFFECTIVE = "/proc/irq/*/effective_affinity_list"
_COLUMN = re.compile(r"CPU([0-9]{1,4})")


@dataclass(frozen=True)
class Row:
    """One line of /proc/interrupts: counts by CPU, {None: n} where it has one for all CPUs.

    `label` is "24" or "LOC"; `name` is the device's name or the kernel's description.
    """

    label: str
    name: str
    counts: dict[int | None, int]


def read_rows(files: Files, path: str = INTERRUPTS) -> Iterator[Row]:
    """Yield the lines of /proc/interrupts or /proc/softirqs that can be parsed."""
    lines = files.lines(path)
    columns = [int(cpu) for cpu in _COLUMN.findall(lines[0])] if lines else []
    content = files.content(path)
    if content is not None and content.truncated:
        lines = lines[:-1]  # its counts may be cut in the middle
    for line in lines[1:]:
        label, colon, rest = line.partition(":")
        label = clean(label, 32)
        if not colon or not label:
            continue
        words = rest.split(maxsplit=len(columns))
        numbers: list[int] = []
        for word in words[: len(columns)]:
            number = integer(word)
            if number is None or number < 0:
                break
            numbers.append(number)
        text = rest
        for _ in numbers:
            text = text.lstrip().partition(" ")[2]
        counts: dict[int | None, int] = {}
        if len(numbers) == len(columns):
            counts = {
                cpu: number for cpu, number in zip(columns, numbers, strict=True) if cpu < CPU_LIMIT
            }
        elif len(numbers) == 1:
            counts = {None: numbers[0]}
        if counts:
            yield Row(label, _name(label, text), counts)


def _name(label: str, text: str) -> str:
    """Return the name without chip, line and trigger, which precede it on numbered rows."""
    text = text.strip()
    if not label.isdigit():
        return clean(text, 80)
    # A row without a handler ends with its trigger, which then serves as the name.
    return clean(re.split(r"\s{2,}", text)[-1], 80)


def read_affinities(files: Files) -> dict[int, str]:
    """Return the CPU list of each interrupt: the effective affinity, else the allowed one."""
    affinities: dict[int, str] = {}
    for pattern in (_AFFINITY, _EFFECTIVE):
        for (irq_text,), path in files.match(pattern):
            irq, text = integer(irq_text), files.text(path, 128)
            # An interrupt that is shut down has an empty effective affinity.
            if irq is not None and irq >= 0 and text and cpu_list(text) is not None:
                affinities[irq] = text
    return affinities


def _affinities(files: Files) -> Iterator[Fact]:
    names = {row.label: row.name for row in read_rows(files)}
    # Interrupts without a handler have no row in /proc/interrupts, and cause no latency.
    lines = [
        f"{irq} {names[str(irq)]}: cpu {cpus}"
        for irq, cpus in sorted(read_affinities(files).items())
        if str(irq) in names
    ]
    if lines:
        yield make_fact("irq_affinities", lines, _EFFECTIVE, limit=128)


def _threaded(files: Files) -> Iterator[Fact]:
    command_line = cmdline.read_command_line(files)
    if command_line is not None:
        threaded = cmdline.value_of(command_line, "threadirqs") is not None
        yield make_fact("threadirqs", threaded, cmdline.PATH)


IRQS: tuple[Source, ...] = (
    FromFile("irq_default_affinity", "/proc/irq/default_smp_affinity", 256),
    Derived(
        _affinities,
        (
            FileRequest("/proc/irq/[0-9]*/smp_affinity_list", 128),
            FileRequest("/proc/irq/[0-9]*/effective_affinity_list", 128),
        ),
    ),
    Derived(_threaded),
)
