"""How single files are understood.

The ARM files are examples of their format, typed by hand after what the kernel's own code
prints (arch/arm/kernel/setup.c, arch/arm64/kernel/cpuinfo.c, kernel/irq/proc.c): no board said
these.
"""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from captured import GUEST, typed

from whylate.boards.facts import WANTED, cpu, facts, for_release, interrupts, kernel, tasks
from whylate.boards.facts.reading import Files, cpu_list, cpu_ranges, integer
from whylate.boards.facts.snapshot import FileContent, FileRequest
from whylate.text import clean

ARM64_CPUINFO = """\
processor\t: 0
BogoMIPS\t: 48.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd03
CPU revision\t: 4

processor\t: 1
BogoMIPS\t: 48.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd08
CPU revision\t: 2

"""

ARM_CPUINFO = """\
processor\t: 0
model name\t: ARMv7 Processor rev 10 (v7l)
Features\t: half thumb fastmult vfp edsp neon vfpv3
CPU implementer\t: 0x41
CPU architecture: 7
CPU variant\t: 0x2
CPU part\t: 0xc09
CPU revision\t: 10

Hardware\t: Freescale i.MX6 Quad/DualLite (Device Tree)
Revision\t: 0000
Serial\t\t: 00000000deadbeef
"""

ARM_INTERRUPTS = """\
           CPU0       CPU1
 16:       1234       5678     GIC-0  29 Edge      twd
 55:          7          0       GPC  26 Level     2020000.serial
150:          0          0       GPC 120 Level
IPI0:         10         20  Rescheduling interrupts
Err:          3
"""


def test_arm_processors_are_named_by_their_identification() -> None:
    assert cpu.read_model(Files(typed({"/proc/cpuinfo": ARM64_CPUINFO}))) == (
        "Cortex-A53 r0p4 + Cortex-A72 r1p2"
    )
    assert cpu.read_model(Files(typed({"/proc/cpuinfo": ARM_CPUINFO}))) == "Cortex-A9 r2p10"


def test_an_unknown_arm_part_keeps_its_numbers() -> None:
    text = ARM64_CPUINFO.replace("0xd03", "0xfff").split("\n\n")[0]
    assert (
        cpu.read_model(Files(typed({"/proc/cpuinfo": text}))) == "implementer 0x41 part 0xfff r0p4"
    )


def test_a_board_s_serial_number_is_not_recorded() -> None:
    arm = facts(typed({"/proc/cpuinfo": ARM_CPUINFO}), GUEST)
    assert "deadbeef" not in repr(arm)
    assert "i.MX6" in repr(arm)
    assert "Serial" not in cpu.read_processors(Files(typed({"/proc/cpuinfo": ARM_CPUINFO})))[-1]


def test_interrupt_rows_keep_label_device_and_counts() -> None:
    rows = {
        r.label: r for r in interrupts.read_rows(Files(typed({"/proc/interrupts": ARM_INTERRUPTS})))
    }
    assert rows["16"].name == "twd"
    assert rows["16"].counts == {0: 1234, 1: 5678}
    assert rows["55"].name == "2020000.serial"
    assert rows["IPI0"].name == "Rescheduling interrupts"
    assert rows["Err"].counts == {None: 3}


def test_a_cut_table_of_interrupts_loses_its_last_row_instead_of_reading_it_short() -> None:
    cut = FileContent(ARM_INTERRUPTS[: ARM_INTERRUPTS.index("5678") + 2].encode(), truncated=True)
    assert list(interrupts.read_rows(Files(typed({"/proc/interrupts": cut})))) == []


def test_a_thread_s_name_may_hold_blanks_and_parentheses() -> None:
    tail = "S 1 " + "0 " * 35 + "77 1 0 0 0\n"
    path = "/proc/9/task/10/stat"
    threads = tasks.read_realtime_tasks(Files(typed({path: f"10 (a) b (c) {tail}"})))
    assert threads == [tasks.RealTimeTask(10, "a) b (c", "fifo", 77)]


def test_a_deadline_thread_stands_first() -> None:
    def stat(tid: int, priority: int, policy: int) -> str:
        return f"{tid} (t{tid}) S 1 " + "0 " * 35 + f"{priority} {policy} 0\n"

    snapshot = typed(
        {
            "/proc/1/task/1/stat": stat(1, 99, 1),
            "/proc/2/task/2/stat": stat(2, 0, 6),
            "/proc/3/task/3/stat": stat(3, 50, 2),
        }
    )
    shown = [tasks.format_task(task) for task in tasks.read_realtime_tasks(Files(snapshot))]
    assert shown == ["t2 deadline pid 2", "t1 fifo 99 pid 1", "t3 rr 50 pid 3"]


@pytest.mark.parametrize(
    ("version", "files", "model"),
    [
        ("#1 SMP PREEMPT_RT Debian 6.1", {}, "rt"),
        ("#1 SMP PREEMPT RT Mon Jan 1", {}, "rt"),
        ("#1 SMP PREEMPT Mon Jan 1", {}, "full"),
        ("#1 SMP Mon Jan 1", {}, "none or voluntary"),
        ("#1 SMP Mon Jan 1", {"/sys/kernel/realtime": "1\n"}, "rt"),
        ("#1 SMP PREEMPT_DYNAMIC", {}, None),
        ("#1 SMP PREEMPT_DYNAMIC", {"/proc/cmdline": "quiet preempt=full\n"}, "full"),
        (
            "#1 SMP PREEMPT_DYNAMIC",
            {
                "/proc/cmdline": "preempt=full\n",
                "/sys/kernel/debug/sched/preempt": "none (voluntary) full\n",
            },
            "voluntary",
        ),
    ],
)
def test_the_preemption_model_is_the_one_in_force(
    version: str, files: dict[str, str], model: str | None
) -> None:
    preemption, _ = kernel.find_preemption(Files(typed(files), replace(GUEST, version=version)))
    assert preemption == model


def test_a_configuration_is_reduced_to_what_bears_on_latency() -> None:
    text = b"CONFIG_HZ=1000\nCONFIG_PROVE_LOCKING=y\nCONFIG_USB=y\n# CONFIG_KASAN is not set\n"
    snapshot = typed({"/proc/config.gz": gzip.compress(text)})
    values = {fact.name: fact.value for fact in facts(snapshot, GUEST)}
    assert values["kernel_config"] == ["HZ=1000", "PROVE_LOCKING=y"]
    assert values["kernel_debug_options"] == ["PROVE_LOCKING"]
    assert values["kernel_hz"] == 1000


def test_a_bomb_in_place_of_a_configuration_is_unpacked_no_further_than_the_limit() -> None:
    bomb = gzip.compress(b"CONFIG_HZ=100\n" + b"\n" * (64 * 2**20) + b"CONFIG_SMP=y\n")
    assert len(bomb) < kernel.CONFIGURATION[0].requests[0].limit
    assert len(kernel.unpack(bomb)) == kernel.UNPACKED_LIMIT
    assert kernel.read_options(Files(typed({"/proc/config.gz": bomb}), GUEST)) == {"HZ": "100"}


#: Without the time it was made at, so that all workers know the test by one name.
CUT_SHORT = gzip.compress(b"CONFIG_HZ=100\n", mtime=0)[:-9]


@pytest.mark.parametrize("data", [b"no archive", b"", CUT_SHORT])
def test_a_damaged_configuration_is_said_not_to_be_understood(data: bytes) -> None:
    named = {fact.name: fact for fact in facts(typed({"/proc/config.gz": data}), GUEST)}
    assert named["kernel_config"].value in (None, ["HZ=100"])
    if named["kernel_config"].value is None:
        assert named["kernel_config"].source == "/proc/config.gz: not understood"


def test_the_release_goes_into_a_path_only_when_it_is_a_plain_name() -> None:
    wanted = (FileRequest("/boot/config-{release}", 9), FileRequest("/proc/stat", 9))
    assert for_release(wanted, "6.1.0-18-rt-arm64")[0].pattern == "/boot/config-6.1.0-18-rt-arm64"
    for bad in ("../../etc/shadow", "*", "a b", "", "[a]", "6.1\n"):
        assert for_release(wanted, bad) == wanted[1:]
    assert not any("{" in request.pattern for request in for_release(WANTED, "6.1"))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("", []),
        ("5", [5]),
        ("3-1", None),
        ("0-8192", None),
        ("x", None),
        ("-1", None),
        ("１", None),
    ],
)
def test_cpu_lists_are_read_as_the_kernel_writes_them(text: str, cpus: list[int] | None) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("9" * 5000, None),
        ("1_000", None),
        ("0x10", None),
        ("１", None),
        ("", None),
    ],
)
def test_only_plain_decimal_numbers_of_64_bits_are_numbers(text: str, value: int | None) -> None:
    assert integer(text) == value


def test_cpus_are_written_as_the_kernel_writes_them() -> None:
    assert cpu_ranges([8, 0, 1, 2, 2]) == "0-2,8"


def test_what_could_forge_a_terminal_line_is_stripped() -> None:
    assert clean("a\x1b[31mb\r\n\u202ec\x00d\u2028e") == "a [31mb c d e"
    assert len(clean("x" * 1000)) == 400


@pytest.mark.parametrize(
    ("millidegrees", "shown"),
    [("48231", "cpu-thermal: 48.2 °C"), ("-5000", "cpu-thermal: -5.0 °C"), ("9" * 12, None),
     ("hot", None), ("", None)],
)  # fmt: skip
def test_thermal_zones_are_read_in_degrees(millidegrees: str, shown: str | None) -> None:
    zone = "/sys/class/thermal/thermal_zone0"
    files = typed({f"{zone}/temp": f"{millidegrees}\n", f"{zone}/type": "cpu-thermal\n"})
    values = {fact.name: fact.value for fact in facts(files, GUEST)}
    assert values.get("temperatures") == (None if shown is None else [shown])


def test_a_zone_without_a_name_has_its_number() -> None:
    files = typed({"/sys/class/thermal/thermal_zone3/temp": "50000\n"})
    values = {fact.name: fact.value for fact in facts(files, GUEST)}
    assert values["temperatures"] == ["zone 3: 50.0 °C"]
