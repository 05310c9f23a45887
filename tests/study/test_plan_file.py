"""Plans of studies as users write them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from whylate.cli.study.run import VARIANT
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.run.knobs.commands import CommandKnob
from whylate.study.check import opened_name
from whylate.study.model import Stop, StudyPlan
from whylate.study.plan_file import read_plan_file, resolve_plan

PLAN = """
boards = ["pc", "virt-arm64"]
for = "2s"
interval = "500us"
looks = [6, 12]
same = { p50 = "5%" }
virtual_time = true
loads = { idle = [], busy = ["memory", "net:2"] }

[variants.ordinary]

[variants.tuned]
thp = "never"
"sysctl:kernel.sched_rt_runtime_us" = -1
"cmdline:nosmt" = true
priority = 90
"""


REQUEST = RunPlan(workload=Wakeup(duration_ns=0, interval_ns=0, priority=80))
PC = "boards = ['pc']\n"
RISCV = "boards = ['virt-riscv64']\n"
BOTH = "boards = ['pc', 'pc-rt']\n"
SSH = "boards = ['ssh://board7']\n"
BUSY = "loads = {idle = [], busy = ['cmd:stress']}\n"
OWN = "[knobs.k]\nread = 'cat x'\nwrite = 'set {value}'\n"
VIRTUAL = "virtual_time = true\nboards = ['pc']\n"
AB = "[variants.a]\n[variants.b]\n"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
HOSTS = "boards = ['board7']\n[variants.a]\nimage = '/etc/hosts'\n"
IMAGES = "image = '/etc/hosts'\n[variants.b]\nimage = '/etc/passwd'\n"
GOVERNOR = "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
IDLE = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable"
TWO = "[variants.a]\n[variants.b]\npriority = 3\n"


def read(tmp_path: Path, text: str) -> StudyPlan:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    return resolve_plan(read_plan_file(file))


def test_a_board_warms_up_unless_each_run_boots(tmp_path: Path) -> None:
    assert read(tmp_path, TWO).warm_up_ns == 2_000_000_000
    assert read(tmp_path, "for = '300ms'\n" + TWO).warm_up_ns == 300_000_000
    assert read(tmp_path, "warm_up = '10s'\n" + TWO).warm_up_ns == 10_000_000_000
    assert read(tmp_path, "warm_up = 'none'\n" + TWO).warm_up_ns == 0
    assert read(tmp_path, VIRTUAL + TWO).warm_up_ns == 0
    with pytest.raises(RequestError, match="nothing stays warm"):
        read(tmp_path, "warm_up = '1s'\n" + VIRTUAL + TWO)


def test_a_plan_says_what_every_run_is(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN)
    assert plan.boards == ["pc", "virt-arm64"]
    assert isinstance(plan.workload, Wakeup)
    assert (plan.workload.duration_ns, plan.workload.interval_ns) == (2_000_000_000, 500_000)
    assert plan.stop == Stop("looks", [6, 12])
    assert plan.margins == {"p50": 1.05}
    assert [(item.name, len(item.loads)) for item in plan.loads] == [("idle", 0), ("busy", 2)]
    assert plan.variants[1].knobs == {
        "thp": "never",
        "sysctl:kernel.sched_rt_runtime_us": "-1",
        "cmdline:nosmt": "yes",
        "priority": "90",
    }


def test_what_is_not_said_is_looked_at_after_10_20_and_30_rounds(tmp_path: Path) -> None:
    plan = read(tmp_path, "[variants.a]\n[variants.b]\npriority = 50\n")
    assert plan.boards == ["local"]
    assert plan.stop == Stop("looks", [10, 20, 30])
    assert [item.name for item in plan.loads] == ["idle"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boards = [", "plan.toml: "),
        ("bords = ['pc']", "a plan has no key 'bords': there are anytime, boards, budget, "),
        (
            "[memory]\nsources = ['random']\n" + TWO,
            "[memory] has no key 'sources': there are block",
        ),
        ("memory = 3\n" + TWO, "Expected `object`, got `int`"),
        ("[variants.a]", "compares 2 to 16 variants"),
        ("[variants.a]\n[variants.b]\n", "there is nothing to compare"),
        ("[variants.a]\n[variants.b]\npriority = [1]", "'priority' in [variants.b] is a list: "),
        ("[variants.a]\n[variants.b]\nx = 2026-01-01", "'x' in [variants.b] is a table or a time"),
        ("[factors]\npriority = [1, [2]]\n", "'priority' in [factors] is a list: a knob has"),
        ("[variants.a]\n[variants.b]\nthp = '" + 201 * "x" + "'", "more than 200 characters"),
        ("[variants.a]\n[variants.'b/c']\npriority = 3", "invalid name 'b/c'"),
        ("[variants.a]\n[variants.b]\nspeed = 3", "unknown knob 'speed', expected one of governor"),
        ("[variants.a]\n[variants.b]\n'/etc/passwd' = 'x'", "a path must be under /proc/sys/"),
        ("[variants.a]\n[variants.b]\n'/sys/../etc/x' = 'x'", "a path must be under"),
        ("[variants.a]\n[variants.b]\n'sysctl:../../x' = 1", "write it like sysctl:vm.swappiness"),
        ("[variants.a]\n[variants.b]\n'cmdline:a b' = 1", "is no kernel argument"),
        ("[variants.a]\n[variants.b]\n'cmdline:nohz' = 'off'", "only virtual boards"),
        ("[variants.a]\n[variants.b]\nkernel = 'rt'", "sets the kernel, of which only virtual"),
        ("[variants.a]\n[variants.b]\nkernel = 'new'", "knob kernel: expected one of rt, standard"),
        (f"{PC}[variants.a]\n[variants.b]\nkernel = 'ordinary'", "have the same knobs"),
        (f"{BOTH}[variants.a]\n[variants.b]\nkernel = 'rt'", "are one machine with its two"),
        (f"{RISCV}[variants.a]\n[variants.b]\nkernel = 'rt'", "'rt', which virt-riscv64 lacks"),
        (
            f"{SSH}[variants.a]\n[variants.b]\nkernel = 'rt'",
            "sets the kernel, of which only virtual",
        ),
        (f"{SSH}[variants.a]\n[variants.b]\nkernel = './none'", "./none cannot be read"),
        (f"{SSH}[variants.a]\n[variants.b]\nkernel = 'board:boot/x'", "an absolute path behind"),
        (
            f"{PC}[variants.a]\n[variants.b]\ninitrd = '/dev/null'",
            "/dev/null cannot be read: it is not",
        ),
        (f"{PC}[variants.a]\n[variants.b]\ndtb = 'board:/b.dtb'", "pc is a virtual board, which"),
        ("[variants.a]\n[variants.b]\n'env:A B' = 'x'", "a name has A-Z, a-z, 0-9 and _"),
        ("[variants.a]\n[variants.b]\n'env:A' = 'x'", "b under load idle: env:A has no effect"),
        (
            f"{BUSY}[variants.a]\n[variants.b]\n'env:A' = 'x'",
            "b under load idle: env:A has no effect",
        ),
        (
            "[variants.a]\n[variants.b]\n'command:k' = 1",
            "unknown knob command:'k': write [knobs.NAME]",
        ),
        (f"{OWN}[variants.a]\n[variants.b]\n'command:l' = 1", "(there are k)"),
        (f"{VIRTUAL}{OWN}[variants.a]\n[variants.b]\n'command:k' = 1", "no command can run before"),
        ("[knobs.k]\nread = 'x'\n[variants.a]", "missing required field `write`"),
        ("[knobs.k]\nread = 'x'\nwrite = 'y'\n" + TWO, "knobs.k.write has no {value}"),
        ("[knobs.'a b']\nread = 'x'\nwrite = 'y {value}'\n" + TWO, "invalid name 'a b'"),
        ("[variants.a]\n[variants.b]\npriority = 100", "from 1 to 99"),
        ("looks = [3, 6]\n[variants.a]\n[variants.b]\npriority = 3", "rising numbers from 6"),
        ("looks = [9, 9]\n[variants.a]\n[variants.b]\npriority = 3", "rising numbers"),
        (
            "runs = 9\nanytime = 9\n[variants.a]\n[variants.b]\npriority = 3",
            "a study has one stopping rule",
        ),
        ("for = '2'\n[variants.a]\n[variants.b]\npriority = 3", "for = '2': invalid time"),
        ("same = {max = '5%'}\n[variants.a]\n[variants.b]\npriority = 3", "never shown to be the"),
        (f"{AB}thp = 'never'\n'{THP}' = 'always'", f"knobs 'thp' and '{THP}' both set"),
        (f"{AB}'{THP}' = 'never'\n'/sys//kernel/./mm/transparent_hugepage/enabled' = 'x'", "both"),
        (f"{AB}governor = 'a'\n'{GOVERNOR}' = 'b'", "knobs 'governor' and '/sys/devices/system/"),
        (f"{AB}'{GOVERNOR}' = 'b'\ngovernor = 'a'", "both set '/sys/devices/system/cpu/cpu{cpu}"),
        (f"[variants.a]\nthp = 'never'\n[variants.b]\n'{THP}' = 'never'", "have the same knobs"),
        (f"{AB}priority = 80", "have the same knobs"),
        (f"{AB}idle-states = 'held'", "have the same knobs"),
        (f"{AB}recorder = 'on'", "have the same knobs"),
        (f"recorder = false\n{AB}recorder = 'off'", "have the same knobs"),
        (f"cpus = [0, 1]\n{AB}cpus = '1,0'", "have the same knobs"),
        (f"{PC}{AB}'cmdline:threadirqs' = false", "have the same knobs"),
        (f"{AB}'cmdline:threadirqs' = false", "only virtual boards"),
        (f"{HOSTS}[variants.b]", "variant b names no image, and a does: after a run of a the card"),
        (f"{HOSTS}[variants.b]\nimage = '/etc/../etc/hosts'", "have the same knobs"),
        (
            f"{HOSTS}[variants.b]\nimage = '/dev/zero'",
            "/dev/zero cannot be read: it is not a file",
        ),
        (f'{HOSTS}[variants.b]\nimage = "a\\u0000b"', "no file has such a name"),
        (f'{HOSTS}[variants.b]\nimage = "/no\\nne"', "cannot be read: No such file"),
        (f"{HOSTS}[variants.b]\nimage = '/none'", "knob image: /none cannot be read: No such file"),
        (f"[variants.a]\n{IMAGES}", "variant a sets the image, and local has no card"),
        (f"{SSH}[variants.a]\n{IMAGES}", "variant a sets the image, and ssh://board7 has no card"),
        (f"{PC}[variants.a]\nkernel = 'rt'\n{IMAGES}", "variant a sets the image and the kernel"),
        (f"{VIRTUAL}[variants.a]\nfault = 'irqs-off'\n{IMAGES}", "sets the image and a fault"),
        (f"{AB}'idle-state:2' = 'off'", "variant b sets idle states (/sys/devices/system/"),
        (f"{AB}'{IDLE}' = 1\nidle-states = 'held'", 'without idle-states = "allowed"'),
        (f"{AB}priority = 3\n[variants.'a.']\npriority = 4", "variants 'a' and 'a.' would keep"),
        (f"boards = ['ssh://board7', 'board7']\n{TWO}", "(board7): rename one of them"),
        (f"loads = {{'x' = [], 'x.' = ['memory']}}\n{TWO}", "loads 'x' and 'x.' would keep"),
        ("x = " + "[" * 100_000, "plan.toml: brackets are nested too deep"),
        ("runs = " + "9" * 5000, "plan.toml: a number has more digits than any key takes"),
        ("[factors]\npriority = [1, -" + "9" * 5000 + "]", "plan.toml: a number has more digits"),
        (
            "[variants.a]\n[variants.b]\n[memory]\nops = []",
            "without points: each list of its table",
        ),
        ("[variants.a]\n[variants.b]\n[switch]\ntasks = []", "without points: each list"),
        ("[variants.a]\n[variants.b]\n[clock]\nthreads = []", "without points: each list"),
        (f"loads = {{x = ['net:{'1' * 5000}']}}\n{TWO}", "write net:N with N from 1 to"),
        (f"loads = {{x = ['{'y' * 5000}']}}\n{TWO}", "unknown load 'yyy"),
        (
            f"[variants.a]\n[variants.b]\n[memory]\nops = ['{'x' * 5000}']",
            "Invalid enum value 'xxx",
        ),
        (f"{AB}priority = '{'1' * 5000}'", "priority"),
        (f"boards = ['{'b' * 5000}']\n{AB}'cmdline:a' = 'b'", "has more than 300 characters"),
        ("loads = {x = ['beer']}\n[variants.a]\n[variants.b]\npriority = 3", "unknown load 'beer'"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 1000


def test_a_plan_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        read_plan_file(tmp_path / "none.toml")


def test_knobs_of_one_s_own_and_variables_are_a_plan_s(tmp_path: Path) -> None:
    plan = read(
        tmp_path,
        "loads = {busy = ['cmd:stress -c 1']}\n[knobs.fan]\nread = 'fan'\n"
        "write = 'fan --set={value}'\n[factors]\n'command:fan' = [0, 9]\n'env:A' = ['x', 'y z']\n",
    )
    assert plan.knobs == {"fan": CommandKnob("fan", "fan --set={value}")}
    assert plan.variants[-1].knobs == {"command:fan": "9", "env:A": "y z"}


def test_an_idle_state_is_switched_where_the_run_may_use_it(tmp_path: Path) -> None:
    plan = read(tmp_path, f"{AB}'idle-state:2' = 'off'\nidle-states = 'allowed'")
    assert apply_knobs(REQUEST, plan.variants[1].knobs).plan.workload.allow_idle_states
    # Benchmarks hold none.
    read(tmp_path, f"[memory]\n{AB}'idle-state:2' = 'off'")


def test_a_word_that_is_not_wanted_is_left_out_of_the_command_line(tmp_path: Path) -> None:
    factors = "[factors]\n'cmdline:threadirqs' = [false, true]\npriority = [3, 4]\n"
    plan = read(tmp_path, PC + factors)
    applied = [apply_knobs(REQUEST, item.knobs) for item in plan.variants]
    assert [item.kernel_args for item in applied] == [(), (), ("threadirqs",), ("threadirqs",)]
    assert [item.left_out for item in applied] == [("threadirqs",), ("threadirqs",), (), ()]


def test_a_recorder_is_switched_on_by_its_knob(tmp_path: Path) -> None:
    plan = read(tmp_path, f"recorder = false\n{AB}recorder = 'on'")
    runs = [apply_knobs(plan.request, item.knobs).plan for item in plan.variants]
    assert [item.recorder for item in runs] == [None, RecorderPlan()]


def test_a_kernel_is_of_the_same_machine(tmp_path: Path) -> None:
    plan = read(tmp_path, "boards = ['pc', 'virt-arm64-rt']\n[variants.a]\nkernel = 'ordinary'\n"
                          "[variants.b]\nkernel = 'rt'\n")  # fmt: skip
    opened = [
        opened_name(board, apply_knobs(REQUEST, item.knobs)) for board in plan.boards
        for item in plan.variants
    ]  # fmt: skip
    assert opened == ["pc", "pc-rt", "virt-arm64", "virt-arm64-rt"]
    assert opened_name("pc-rt", apply_knobs(REQUEST, {})) == "pc-rt"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a", ("a", {})),
        ("b:priority=20,thp=never", ("b", {"priority": "20", "thp": "never"})),
        ("b:irq:24=0,1,priority=20", ("b", {"irq:24": "0,1", "priority": "20"})),
        ("b:cmdline:isolcpus=managed_irq,2", ("b", {"cmdline:isolcpus": "managed_irq,2"})),
    ],
)
def test_a_variant_on_the_command_line(text: str, result: tuple[str, dict[str, str]]) -> None:
    assert VARIANT.convert(text, None, None) == result


@pytest.mark.parametrize("text", ["b:thp", "b:=x", "b:thp=", "b:thp=a,thp=b", "b:thp=a,,"])
def test_what_is_no_variant_on_the_command_line(text: str) -> None:
    with pytest.raises(click.BadParameter):
        VARIANT.convert(text, None, None)


def test_a_load_of_a_variant_may_be_a_long_command() -> None:
    applied = apply_knobs(
        RunPlan(workload=Wakeup(duration_ns=0, interval_ns=0, priority=80)),
        {"load": f"cmd:{900 * 'x'}"},
    )
    assert applied.plan.loads[0].command == 900 * "x"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("priority = 500", "--priority must lie between 1 and 99"),
        ('for = "31d"', "at most 30 days"),
        ('interval = "11s"', "--interval must lie between 50us and 10s"),
        ("seed = 99999999999999999999999", "seed"),
        ("runs = 99999999999", "runs"),
        ("cpus = [-99999999999]", "cpus"),
    ],
)
def test_absurd_numbers_of_a_plan_are_refused_before_a_study_is_made(
    line: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f'{line}\n[variants.a]\nthp = "never"\n[variants.b]\nthp = "always"\n')
    with pytest.raises(RequestError, match=why):
        resolve_plan(read_plan_file(path))
