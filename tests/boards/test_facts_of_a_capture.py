"""Facts of a captured KVM guest, and of the machine that the tests run on."""

from __future__ import annotations

import re

import msgspec
from captured import GUEST, before, changed

from whylate.boards.board import notify_nobody
from whylate.boards.facts import WANTED, facts
from whylate.boards.facts.snapshot import FileContent
from whylate.boards.local import LocalBoard
from whylate.recording.manifest import Fact
from whylate.run.read import read_board


def by_name(items: list[Fact]) -> dict[str, Fact]:
    names = {fact.name: fact for fact in items}
    assert len(names) == len(items), "a fact's name occurs twice"
    return names


def test_the_captured_guest_is_described_as_it_was() -> None:
    named = by_name(facts(before(), GUEST))
    expected = {
        "hypervisor": "KVM",
        "kernel_release": "6.18.44-fc-v470",
        "kernel_taint": "no",
        "cpu_model": "Intel(R) Xeon(R) Processor",
        "cpus_online": "0-1",
        "cpu_packages": 1,
        "cpu_cores": 2,
        "smt_siblings": [],
        "numa_nodes": ["node 0: 0-1"],
        "idle_driver": "haltpoll",
        "idle_states": [
            "state0 POLL: 0 us, enabled",
            "state1 haltpoll idle: 1 us, enabled",
        ],
        "clock_source": "tsc",
        "clock_sources_available": ["tsc", "kvm-clock"],
        "clock_event_devices": ["lapic-deadline"],
        "timer_migration": 1,
        "transparent_hugepage": "madvise",
        "rt_runtime_us": 950000,
        "rt_period_us": 1000000,
        "soft_watchdog": 1,
        "printk_console_level": 4,
        "memory_total_bytes": 25276530688,
        "swap_areas": [],
        "consoles": ["ttyS0"],
        "processor_pmus": [],
    }
    assert {name: named[name].value for name in expected} == expected


def test_caches_are_grouped_by_kind_and_sharing() -> None:
    caches = by_name(facts(before(), GUEST))["caches"].value
    assert isinstance(caches, list)
    assert "L1 Data 48K, one per 1 CPU(s), 2 in all" in caches
    assert any(line.startswith("L3 Unified") for line in caches)


def test_real_time_threads_are_listed_most_urgent_first_and_ordinary_ones_are_not() -> None:
    listed = by_name(facts(before(), GUEST))["rt_tasks"].value
    assert isinstance(listed, list)
    assert listed[0] == "migration/0 fifo 99 pid 18"
    assert "irq/24-ACPI:Ged fifo 50 pid 50" in listed
    assert not any("kthreadd" in line for line in listed)


def test_interrupts_are_listed_with_their_device_and_place() -> None:
    listed = by_name(facts(before(), GUEST))["irq_affinities"].value
    assert isinstance(listed, list)
    assert "24 ACPI:Ged: cpu 0" in listed
    assert any(re.fullmatch(r"36 virtio1-req\.0: cpu [01]", line) for line in listed)


def test_what_is_there_but_closed_is_a_fact_without_value_that_says_why() -> None:
    closed = FileContent(b"", error="EACCES")
    path = "/proc/sys/kernel/sched_rt_runtime_us"
    fact = by_name(facts(changed(before(), {path: closed}), GUEST))["rt_runtime_us"]
    assert fact.value is None
    assert fact.source == f"{path}: not readable (EACCES)"


def test_what_is_not_there_gives_no_fact() -> None:
    absent = FileContent(b"", error="ENOENT")
    path = "/proc/sys/kernel/sched_rt_runtime_us"
    assert "rt_runtime_us" not in by_name(facts(changed(before(), {path: absent}), GUEST))


def test_a_path_is_asked_for_in_one_way_only() -> None:
    patterns = [request.pattern for request in WANTED]
    assert len(set(patterns)) == len(patterns)


def test_this_machine_can_be_read_and_its_facts_survive_json() -> None:
    snapshot, probe = read_board(LocalBoard(), WANTED, notify_nobody)
    items = facts(snapshot, probe)
    names = by_name(items)
    assert names["kernel_release"].value == probe.release
    assert names["cpus_online"].value
    assert names["memory_total_bytes"].value
    assert msgspec.json.decode(msgspec.json.encode(items), type=list[Fact]) == items


def test_a_snapshot_of_this_machine_stays_small() -> None:
    snapshot, _ = read_board(LocalBoard(), WANTED, notify_nobody)
    size = sum(len(path) + len(content.data) for path, content in snapshot.files.items())
    assert size < 512 * 1024
