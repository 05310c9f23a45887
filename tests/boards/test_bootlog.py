"""Facts of the logs that four virtual boards and a few real ones wrote while they booted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from whylate.boards.facts.bootlog import bootlog_facts
from whylate.recording.manifest import Fact

LOGS = Path(__file__).parent / "data" / "bootlogs"


def lines_of(name: str) -> list[str]:
    return (LOGS / f"{name}.txt").read_text().split("\n")


def decoded(lines: Sequence[str]) -> dict[str, Fact]:
    decoded_facts = bootlog_facts(lines, "kernel log")
    names = {fact.name: fact for fact in decoded_facts}
    assert len(names) == len(decoded_facts), "a fact's name occurs twice"
    return names


VIRT_ARM64 = {
    "boot_log": "from the boot on",
    "boot_kernel": "6.1.0-56-rt-arm64",
    "boot_kernel_compiler": "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0",
    "boot_kernel_preemption": "PREEMPT_RT",
    "boot_machine": "linux,dummy-virt",
    "boot_command_line": ["console=ttyAMA0", "panic=-1"],
    "boot_memory_available_bytes": 99540 * 1024,
    "boot_memory_total_bytes": 524288 * 1024,
    "boot_cpus": 2,
    "boot_numa_nodes": 1,
    "cpu_errata_detected": [
        "Spectre-v2",
        "Spectre-v3a",
        "Spectre-v4",
        "Spectre-BHB",
        "Kernel page table isolation (KPTI)",
        "ARM erratum 1742098",
        "ARM errata 1165522, 1319367, or 1530923",
    ],
    "cpu_features_detected": ["32-bit EL0 Support", "CRC32 instructions"],
    "alternatives": ["applying boot alternatives", "applying system-wide alternatives"],
    # With the kernel unmapped in user space a process takes two of the 65,536.
    "asid_entries": 32768,
    "asid_bits": 16,
    "gic": "GICv2",
    "pmu_driver": "armv8_pmuv3",
    "pmu_counters": 7,
    "idle_governors_registered": ["ladder", "menu"],
    "clock_source_switches": ["arch_sys_counter at 0.349791 s"],
    "sched_clock_bits": 57,
    "sched_clock_resolution_ns": 16,
    "arch_timer_mhz": 62.5,
    "arch_timer": "cp15, virt",
}
RASPI3B = {
    "boot_machine": "Raspberry Pi 3 Model B",
    "boot_cpus": 4,
    "cpu_errata_detected": ["ARM erratum 843419", "ARM erratum 845719"],
    "asid_entries": 65536,
    "asid_bits": 16,
    "pmu_driver": "armv8_cortex_a53",
    "arch_timer": "cp15, phys",
}
SABRELITE = {
    "boot_kernel": "6.1.0-50-rt-armmp",
    "boot_kernel_preemption": "PREEMPT_RT",
    "boot_machine": "Freescale i.MX6 Quad SABRE Lite Board",
    "boot_cpus": 4,
    "soc": "i.MX6Q, silicon rev 1.0",
    "memory_policy": "Data cache writealloc",
    "cpu_errata_detected": ["Spectre v2: using BPIALL workaround"],
    "pmu_driver": "armv7_cortex_a9",
    "pmu_counters": 7,
    "pmu_trouble": ["no interrupt-affinity property, guessing."],
    "clock_source_switches": ["mxc_timer1 at 1.716403 s"],
    "l2_controller": "L2C-310",
    "l2_ways": 8,
    "l2_size_kib": 64,
    "l2_errata": ["588369", "769419"],
    "l2_cache_id": "0x00000000",
    "l2_revision": None,
    "l2_way_size_kib": None,
    "l2_aux_ctrl_not_taken": ["l2_shared_override: True"],
}
PC = {
    "boot_machine": (
        "QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.16.2-debian-1.16.2-1 04/01/2014"
    ),
    "boot_huge_page_sizes": ["1.00 GiB, 0 allocated", "2.00 MiB, 0 allocated"],
    "boot_cpus": 2,
    "pmu_driver": "PMU not available due to virtualization, using software events only.",
    "tsc_calibration": ["Fast TSC calibration using PIT"],
    "tsc_detected_mhz": 2299.995,
    "tsc_unstable": "TSCs unsynchronized at 0.336972 s",
    "clock_source_switches": ["hpet at 1.443221 s"],
    "hpet_mhz": 100.0,
    "hpet_bits": 64,
    "hpet_comparators": 3,
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("virt-arm64", VIRT_ARM64), ("raspi3b", RASPI3B), ("sabrelite", SABRELITE), ("pc", PC)],
)
def test_a_virtual_board_is_described_as_it_booted(name: str, expected: dict[str, object]) -> None:
    facts = decoded(lines_of(name))
    assert {fact: facts[fact].value for fact in expected} == expected


def test_a_board_says_nothing_of_hardware_that_it_has_not() -> None:
    arm, pc = decoded(lines_of("virt-arm64")), decoded(lines_of("pc"))
    assert not [name for name in arm if name.startswith(("tsc_", "hpet_", "l2_"))]
    assert not [name for name in pc if name.startswith(("asid_", "arch_timer", "gic", "l2_"))]
    # The TSC never took over: there was no window in which something stood in for it.
    assert "tsc_calibration_window_s" not in pc


def test_a_fact_keeps_the_line_that_it_was_read_from() -> None:
    facts = decoded(lines_of("virt-arm64"))
    assert facts["asid_bits"].source == (
        "kernel log: [ 0.227373] ASID allocator initialised with 32768 entries"
    )
    assert facts["gic"].source.endswith("GICv2m: range[mem 0x08020000-0x08020fff], SPI[80:143]")


def test_an_id_that_is_none_says_why_beside_its_line() -> None:
    source = decoded(lines_of("sabrelite"))["l2_revision"].source
    assert "CACHE_ID 0x00000000, AUX_CTRL 0x00000000" in source
    assert source.endswith("(implementer 0x00 is not Arm: this is no such id)")


def test_a_long_line_does_not_push_the_reason_out() -> None:
    line = "L2C-310: CACHE_ID 0x00000000, AUX_CTRL 0x00000000" + " and more" * 100
    assert decoded([line])["l2_revision"].source.endswith("this is no such id)")


def test_the_window_in_which_another_clock_stood_in_for_the_tsc_is_measured() -> None:
    facts = decoded(lines_of("hpet-to-tsc"))
    assert facts["clock_source_switches"].value == ["hpet at 5.777423 s", "tsc at 8.871787 s"]
    assert facts["tsc_calibration_window_s"].value == pytest.approx(3.094364, abs=1e-9)
    assert facts["tsc_calibration_stand_in"].value == "hpet"
    assert facts["tsc_refined_mhz"].value == 2493.99
    source = facts["tsc_calibration_window_s"].source
    assert "Switched to clocksource hpet" in source
    assert "Switched to clocksource tsc" in source


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        (
            "Marking TSC unstable due to check_tsc_sync_source failed",
            "tsc_unstable",
            "check_tsc_sync_source failed",
        ),
        (
            (
                "[   11.5] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' "
                "as unstable because the skew is too large:"
            ),
            "tsc_unstable",
            "unstable because the skew is too large: at 11.500000 s",
        ),
        ("tsc: Fast TSC calibration failed", "tsc_calibration", ["Fast TSC calibration failed"]),
        (
            "tsc: using HPET reference calibration",
            "tsc_calibration",
            ["using HPET reference calibration"],
        ),
        ("tsc: Detected 3000.000 MHz TSC", "tsc_detected_mhz", 3000.0),
        ("Architected cp15 timer(s) running at 19.20MHz (virt).", "arch_timer_mhz", 19.2),
        (
            "arch_timer: cp15 and mmio timer(s) running at 24.00MHz (phys/phys).",
            "arch_timer",
            "cp15 and mmio, phys/phys",
        ),
        ("ASID allocator initialised with 256 entries", "asid_bits", 8),
        ("ASID allocator initialised with 77 entries", "asid_entries", 77),
        ("GICv3: 256 SPIs implemented", "gic", "GICv3"),
        ("GIC: Using split EOI/Deactivate mode", "gic", "GIC, version not said"),
        (
            (
                "hw perfevents: enabled with armv8_pmuv3_0 PMU driver, 7 (0,8000003f) counters "
                "available, using NMIs"
            ),
            "pmu_counters",
            7,
        ),
        (
            "intel_pstate: Intel P-state driver initializing",
            "cpu_frequency_drivers_said",
            ["intel_pstate: Intel P-state driver initializing"],
        ),
        ("x86: Booted up 1 node, 4 CPUs", "boot_cpus", 4),
        ("smp: Brought up 1 node, 1 CPU", "boot_cpus", 1),
        ("Switching to clocksource acpi_pm", "clock_source_switches", ["acpi_pm"]),
        ("[    0.1][    T0] Memory: 8K/16K available (1K x)", "boot_memory_total_bytes", 16384),
        # ARM before 3.11: both are what is free.
        (
            "Memory: 245676k/245676k available, 16468k reserved, 0K highmem",
            "boot_memory_total_bytes",
            256 << 20,
        ),
    ],
)
def test_a_line_that_none_of_the_boards_writes_is_known_all_the_same(
    line: str, fact: str, value: object
) -> None:
    assert decoded([line])[fact].value == value


@pytest.mark.parametrize(
    ("banks", "free", "total_mb"),
    [
        ("43MB = 43MB", "39616k/39616k available, 4416k reserved, 0K highmem", 43),
        ("44MB 614MB = 658MB", "631168k/631168k available, 330368k reserved, 0K highmem", 658),
    ],
)
def test_the_memory_of_an_arm_kernel_before_3_11_is_that_of_its_banks(
    banks: str, free: str, total_mb: int
) -> None:
    facts = decoded([f"Memory: {banks} total", f"Memory: {free}"])
    assert facts["boot_memory_total_bytes"].value == total_mb << 20
    assert facts["boot_memory_available_bytes"].value == int(free.partition("k")[0]) << 10


def test_the_line_that_names_the_interrupt_controllers_version_counts() -> None:
    facts = decoded(["GIC: Using split EOI/Deactivate mode", "GICv3: 256 SPIs implemented"])
    assert facts["gic"].value == "GICv3"


def test_an_intel_pc_says_its_counters_on_a_line_of_their_own() -> None:
    intel = ["Performance Events: Skylake events, full-width counters, Intel PMU driver."]
    facts = decoded([*intel, "... version:                4", "... generic registers:      8"])
    assert facts["pmu_counters"].value == 8


def test_asids_of_no_known_width_are_counted_and_not_given_a_width() -> None:
    facts = decoded(["ASID allocator initialised with 77 entries"])
    assert facts["asid_bits"].value is None
    assert "no known number of bits" in facts["asid_bits"].source


def test_a_ring_that_has_gone_round_is_said_to_have_lost_the_boot() -> None:
    tail = lines_of("pc")[-20:]
    facts = decoded([f"<6>[{90_000 + i}.000000] usb 1-1: new device" for i in range(50)] + tail)
    assert facts["boot_log"].value == "boot lines are gone: the oldest line left is of 90000 s"
    assert "boot_kernel" not in facts


def test_an_empty_log_is_said_to_be_empty() -> None:
    assert decoded([])["boot_log"].value is None
    assert decoded(["", " \r"])["boot_log"].source == "kernel log: empty"


def test_of_a_console_that_saw_several_boots_the_last_one_counts() -> None:
    loader = ["U-Boot 2022.01", "\x1b[2JHit any key to stop autoboot: 0 ", "Starting kernel ..."]
    session = ["# cat /proc/version", "Linux version 5.0.0-old (x@y) #1 SMP PREEMPT Mon"]
    first = [line.partition(">")[2] for line in lines_of("pc")]
    second = [f"{line.partition('>')[2]}\r" for line in lines_of("virt-arm64")]
    facts = decoded([*loader, *first, *session, *loader, *second, *session])
    assert facts["boot_kernel"].value == "6.1.0-56-rt-arm64"
    assert facts["boot_log"].value == "from the boot on"
    assert not [name for name in facts if name.startswith("tsc_")]
    assert facts["asid_entries"].source.startswith("kernel log: [ 0.227373] ASID")


def test_a_console_without_times_is_decoded_too() -> None:
    bare = [line.partition("] ")[2] for line in lines_of("raspi3b")]
    facts = decoded(bare)
    assert facts["boot_kernel"].value == "6.1.0-56-rt-arm64"
    assert facts["asid_bits"].value == 16
    assert facts["clock_source_switches"].value == ["arch_sys_counter"]
