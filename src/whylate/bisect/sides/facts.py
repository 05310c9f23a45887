"""What the facts of a board offer, of a recording or just read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from whylate.bisect.kinds import Kind
from whylate.bisect.sides.model import Items, Side
from whylate.boards.facts.kernel import is_kept
from whylate.recording.manifest import Fact, FactValue

#: What each kind's values are, for those that facts have; see Items.
RELEASE = "release"
OPTIONS = "options"
WORDS = "words"
FILES = "files of the kernel"
SERVED_BY = "CPUs that serve it"
POLICIES = "real-time policy"

#: Where facts of settings come from; counters and what is read-only are none.
_SETTINGS = re.compile(
    r"/proc/sys/(?!kernel/(?:tainted|random/)|fs/binfmt_misc/).+"
    r"|/proc/irq/default_smp_affinity"
    r"|/sys/kernel/(?:mm/.+|rcu_\w+|debug/sched/\w+)"
    r"|/sys/devices/system/cpu/(?:cpu\*/)?cpufreq/"
    r"(?:scaling_(?:governor|min_freq|max_freq)|energy_performance_preference|boost)"
    r"|/sys/devices/system/cpu/(?:cpuidle/current_governor(?:_ro)?|cpu\*/cpuidle/state\*"
    r"|smt/control|intel_pstate/\w+)"
    r"|/sys/devices/system/clocksource/clocksource0/current_clocksource"
    r"|/sys/devices/virtual/workqueue/cpumask"
    r"|/sys/module/\w+/parameters/\w+"
)
#: Facts of the hardware.
_MACHINE = re.compile(
    r"machine|hypervisor|memory_total_bytes|cpus_(?:online|present)|cpu_(?:model|microcode|capacity)"
    r"|caches|numa_nodes|dmi_\w+|device_tree_(?:model|compatible)|clock_sources_available"
)
#: A list of facts that was cut ends with it.
_CUT = re.compile(r"… \d+ more")
_AFFINITY = re.compile(r"(\d{1,10}) (.*): cpu ([0-9,-]+)", re.DOTALL)
_PID = re.compile(r"(.*) ((?:fifo|rr) \d{1,2}|deadline) pid \d{1,10}", re.DOTALL)


def recording_side(name: str, facts: Iterable[Fact]) -> Side:
    """Return what a recording offers: the facts before its run."""
    facts = list(facts)
    items, notes = fact_items(facts)
    lacks = {kind: "a recording's facts have none" for kind in Kind if kind not in items}
    lacks[Kind.FILE] = lacks[Kind.LINE] = "a recording has no files of the board"
    return Side(name, "recording", items, lacks, machine=machine_facts(facts), notes=notes)


def fact_items(facts: Iterable[Fact]) -> tuple[dict[Kind, Items], tuple[str, ...]]:
    """Return the items that facts hold, and sentences on what they cut off."""
    values = {fact.name: fact.value for fact in facts if fact.value is not None}
    items: dict[Kind, Items] = {}
    cut = sorted(
        name
        for name, value in values.items()
        if isinstance(value, list) and value and _CUT.fullmatch(value[-1])
    )
    kernel = {
        name: str(values[fact])
        for name, fact in (("release", "kernel_release"), ("build", "kernel_version"))
        if fact in values
    }
    if kernel:
        items[Kind.KERNEL] = Items(kernel, RELEASE, kernel.__contains__)
    if (options := _list(values, "kernel_config")) is not None:
        pairs = (option.partition("=") for option in options)
        set_options = {option: value for option, _, value in pairs}
        items[Kind.OPTION] = Items(set_options, OPTIONS, is_kept)
    if (words := _list(values, "kernel_command_line")) is not None:
        items[Kind.ARGUMENT] = Items(dict.fromkeys(words, ""), WORDS)
    if (affinities := _list(values, "irq_affinities")) is not None:
        matches = (_AFFINITY.fullmatch(line) for line in affinities)
        rows = [(match[1], match[2], match[3]) for match in matches if match]
        items[Kind.AFFINITY] = affinity_items(rows)
    if (tasks := _list(values, "rt_tasks")) is not None:
        matches = (_PID.fullmatch(line) for line in tasks)
        items[Kind.PRIORITY] = Items(
            priority_values((match[1], match[2]) for match in matches if match), POLICIES
        )
    settings = setting_values(facts)
    items[Kind.SETTING] = Items(settings, FILES, settings.__contains__)
    notes = (f"facts that were cut when they were recorded: {', '.join(cut)}",) if cut else ()
    return items, notes


def affinity_items(rows: Iterable[tuple[str, str, str]]) -> Items:
    """Return the CPUs by interrupt; rows: number, name and CPUs.

    An interrupt's number changes from boot to boot: it is named where a name occurs again.
    """
    rows = list(rows)
    counts: dict[str, int] = {}
    for _, name, _ in rows:
        counts[name] = counts.get(name, 0) + 1
    names = [name if counts[name] == 1 else f"{number} {name}" for number, name, _ in rows]
    return Items(
        {name: cpus for name, (_, _, cpus) in zip(names, rows, strict=True)},
        SERVED_BY,
        files={
            name: f"/proc/irq/{number}/smp_affinity_list"
            for name, (number, _, _) in zip(names, rows, strict=True)
        },
    )


def priority_values(threads: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the policies of threads by name; several of one name have a list."""
    policies: dict[str, list[str]] = {}
    for name, policy in threads:
        policies.setdefault(name, []).append(policy)
    return {name: ", ".join(sorted(several)) for name, several in policies.items()}


def setting_values(facts: Iterable[Fact]) -> dict[str, str]:
    """Return the settings among facts, by the file that each was read from."""
    return {
        fact.source: value_text(fact.value)
        for fact in facts
        if fact.value is not None and _SETTINGS.fullmatch(fact.source)
    }


def machine_facts(facts: Iterable[Fact]) -> dict[str, str]:
    """Return the facts of the hardware."""
    return {
        fact.name: value_text(fact.value)
        for fact in facts
        if fact.value is not None and _MACHINE.fullmatch(fact.name)
    }


def value_text(value: FactValue) -> str:
    """Write the value of a fact on one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(value) if isinstance(value, list) else str(value)


def _list(values: Mapping[str, FactValue], name: str) -> list[str] | None:
    value = values.get(name)
    if not isinstance(value, list):
        return None
    return [item for item in value if not _CUT.fullmatch(item)]
