"""What the doctor says of a captured guest, and of single settings changed in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from captured import GUEST, before, changed, typed
from click.testing import CliRunner

from whylate.boards.board import Board, Notify
from whylate.boards.doctor import Check, examine
from whylate.boards.facts.snapshot import FileContent, FileRequest, ProbeFacts, Snapshot
from whylate.cli.board import doctor as doctor_verb
from whylate.cli.board import facts as facts_verb
from whylate.recording.manifest import RecorderReport, SourceReport, SymbolsReport

CPU = "/sys/devices/system/cpu"
USER = replace(GUEST, effective_uid=1000, capabilities=0)


def examined(snapshot: Snapshot, probe: ProbeFacts = GUEST) -> dict[str, Check]:
    checks = examine(snapshot, probe)
    names = {check.name: check for check in checks}
    assert len(names) == len(checks)
    return names


def state(name: str, files: dict[str, str | bytes | FileContent], probe: ProbeFacts = GUEST) -> str:
    return examined(changed(before(), files), probe)[name].state


def test_the_captured_guest_s_troubles_are_named() -> None:
    states = {name: check.state for name, check in examined(before()).items()}
    assert states["real-time priority"] == "good"
    assert states["high-resolution timers"] == "good"
    assert states["hypervisor"] == "poor"
    assert states["CPU counters (PMU)"] == "missing"
    assert states["tracefs"] == "unknown"
    assert states["isolated CPUs"] == "poor"
    assert states["SMT"] == "unknown"
    assert states["transparent huge pages"] == "good"


def test_every_check_that_is_not_good_says_what_is_wanted() -> None:
    for check in examine(before(), USER):
        assert check.wanted
        assert check.state != "missing" or check.how


def test_a_user_without_rights_lacks_real_time_priority() -> None:
    assert examined(before(), USER)["real-time priority"].state == "missing"
    granted = examined(before(), replace(USER, rlimit_rtprio=80))["real-time priority"]
    assert granted.state == "good"
    assert "up to 80" in granted.now


def test_a_control_group_without_real_time_budget_outweighs_the_capability() -> None:
    files: dict[str, str | bytes | FileContent] = {
        "/proc/self/cgroup": "2:cpu,cpuacct:/user.slice\n",
        "/sys/fs/cgroup/cpu/user.slice/cpu.rt_runtime_us": "0\n",
    }
    assert state("real-time priority", files) == "missing"


def test_little_lockable_memory_is_poor_and_unlimited_is_good() -> None:
    assert examined(before(), USER)["memory lock"].state == "poor"
    assert examined(before(), replace(USER, rlimit_memlock_bytes=-1))["memory lock"].state == "good"


def test_a_clock_that_steps_in_ticks_means_no_high_resolution_timers() -> None:
    coarse = replace(GUEST, clock_resolution_ns=4_000_000)
    assert examined(before(), coarse)["high-resolution timers"].state == "missing"


def test_hidden_symbols_are_told_from_symbols_at_address_zero() -> None:
    zero = "0000000000000000 A fixed_percpu_data\n"
    assert state("kernel symbols", {"/proc/kallsyms": zero * 3}) == "missing"
    assert state("kernel symbols", {"/proc/kallsyms": zero + "ffffffff81000000 T _text\n"}) == (
        "good"
    )


def test_symbols_that_the_recorder_could_show_are_good() -> None:
    hidden = changed(before(), {"/proc/kallsyms": "0000000000000000 T _text\n" * 3})
    for shown, state_then in ((True, "good"), (False, "missing")):
        symbols = SymbolsReport(shown, 2, shown, 1, 1, [])
        report = RecorderReport("bpf", None, 0, [], 0, 0, 0, 0, None, None, symbols=symbols)
        checks = {check.name: check for check in examine(hidden, GUEST, report)}
        assert checks["kernel symbols"].state == state_then


@pytest.mark.parametrize(
    ("name", "path", "poor", "good"),
    [
        (
            "transparent huge pages",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
            "always madvise [never]\n",
        ),
        ("same-page merging (KSM)", "/sys/kernel/mm/ksm/run", "1\n", "2\n"),
        ("swap", "/proc/swaps", "Filename Type\n/dev/sda2 partition\n", "Filename Type\n"),
        ("RT throttling", "/proc/sys/kernel/sched_rt_runtime_us", "500000\n", "-1\n"),
        ("printk console", "/proc/sys/kernel/printk", "7\t4\t1\t7\n", "4\t4\t1\t7\n"),
        ("isolated CPUs", f"{CPU}/isolated", "\n", "1\n"),
        (
            "clock source",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
            "arch_sys_counter\n",
        ),
        ("idle states", f"{CPU}/cpu0/cpuidle/state1/latency", "133\n", "2\n"),
        ("frequency governor", f"{CPU}/cpu0/cpufreq/scaling_governor", "ondemand", "performance"),
    ],
)
def test_a_setting_is_judged_by_its_value(name: str, path: str, poor: str, good: str) -> None:
    assert state(name, {path: poor}) == "poor"
    assert state(name, {path: good}) == "good"


def test_a_governor_held_at_one_frequency_is_good() -> None:
    held: dict[str, str | bytes | FileContent] = {
        f"{CPU}/cpu0/cpufreq/scaling_governor": "userspace",
        f"{CPU}/cpu0/cpufreq/scaling_min_freq": "996000",
        f"{CPU}/cpu0/cpufreq/scaling_max_freq": "996000",
    }
    assert state("frequency governor", held) == "good"


def test_numa_balancing_does_no_harm_on_one_node() -> None:
    on: dict[str, str | bytes | FileContent] = {"/proc/sys/kernel/numa_balancing": "1\n"}
    assert state("NUMA balancing", on) == "good"
    on["/sys/devices/system/node/node1/cpulist"] = "2-3\n"
    assert state("NUMA balancing", on) == "poor"


def test_an_interrupt_on_an_isolated_cpu_is_poor() -> None:
    isolated: dict[str, str | bytes | FileContent] = {f"{CPU}/isolated": "1\n"}
    assert state("interrupt affinity", isolated) == "poor"
    elsewhere: dict[str, str | bytes | FileContent] = {
        path: "0\n" for path in before().files if path.startswith("/proc/irq/") and "list" in path
    }
    assert state("interrupt affinity", isolated | elsewhere) == "good"


def test_a_foreign_thread_at_priority_99_is_a_rival_and_the_kernel_s_own_is_not() -> None:
    tail = "S 1 " + "0 " * 35 + "99 1 0 0 0\n"
    assert state("other high-priority threads", {}) == "good"
    assert (
        state("other high-priority threads", {"/proc/7/task/7/stat": f"7 (hog) {tail}"}) == "poor"
    )


def test_a_real_time_kernel_needs_no_threadirqs() -> None:
    rt = replace(GUEST, version="#1 SMP PREEMPT_RT Debian")
    checks = examined(before(), rt)
    assert checks["preemption model"].state == "good"
    assert checks["threaded interrupts"].state == "good"


def test_a_board_of_which_nothing_is_known_is_not_called_good_where_it_matters() -> None:
    nothing = replace(
        USER,
        version="",
        effective_uid=None,
        capabilities=None,
        rlimit_rtprio=None,
        rlimit_memlock_bytes=None,
        clock_resolution_ns=None,
    )
    checks = examined(typed({}), nothing)
    for name in ("real-time priority", "memory lock", "high-resolution timers", "clock source"):
        assert checks[name].state == "unknown", name


def test_a_board_s_words_are_cleaned_and_cut_in_every_check() -> None:
    hostile: dict[str, str | bytes | FileContent] = {
        "/dev/cpu_dma_latency": FileContent(b"", error="\x1b[2J" * 100)
    }
    now = examined(changed(before(), hostile))["/dev/cpu_dma_latency"].now
    assert "\x1b" not in now
    assert len(now) <= 160


def test_the_recorder_that_was_tried_is_good_with_bpf_poor_with_tracefs_missing_without() -> None:
    def tried(engine: str | None) -> Check:
        sources = [SourceReport("sched:sched_switch", 0), SourceReport("nmi:nmi_handler", 2)]
        report = RecorderReport(
            engine, None if engine else "bpf: no BTF", 0, sources, 0, 0, 0, 0, None, None,
            declined="bpf: no BTF" if engine == "tracefs" else None,
        )  # fmt: skip
        checks = {check.name: check for check in examine(before(), GUEST, report)}
        return checks["flight recorder"]

    assert tried("bpf").state == "good"
    assert "1 tracepoints" in tried("bpf").now
    assert tried("tracefs").state == "poor"
    assert "no BTF" in tried("tracefs").now
    assert tried(None).state == "missing"
    assert "no BTF" in tried(None).now
    assert "flight recorder" not in examined(before())


@pytest.mark.parametrize(("setting", "state"), [("0\n", "poor"), ("1\n", "good"), (None, "good")])
def test_a_kernel_that_interprets_bpf_programs_is_told_how_to_compile_them(
    setting: str | None, state: str
) -> None:
    snapshot = before()
    if setting is not None:
        snapshot = changed(snapshot, {"/proc/sys/net/core/bpf_jit_enable": setting})
    report = RecorderReport("bpf", None, 0, [], 0, 0, 0, 0, None, None)
    check = next(c for c in examine(snapshot, GUEST, report) if c.name == "flight recorder")
    assert check.state == state
    assert ("bpf_jit_enable=1" in check.how) == ("interprets" in check.now) == (state == "poor")


@pytest.fixture
def captured_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the verbs read the capture, with one hostile file, in place of a board."""
    hostile = {"/proc/device-tree/model": "[red]\x1b[2Jevil[/red] [/nonsense]\0"}

    def read_board(
        board: Board, requests: Sequence[FileRequest], notify: Notify
    ) -> tuple[Snapshot, ProbeFacts]:
        notify("reading")
        assert board.name == "local"
        assert requests
        return changed(before(), hostile), GUEST

    def read_board_and_recorder(
        board: Board, requests: Sequence[FileRequest], notify: Notify
    ) -> tuple[Snapshot, ProbeFacts, RecorderReport]:
        report = RecorderReport(None, "bpf: [red]\x1b[2Jevil[/red]", 0, [], 0, 0, 0, 0, None, None)
        return (*read_board(board, requests, notify), report)

    monkeypatch.setattr("whylate.run.read.read_board", read_board)
    monkeypatch.setattr("whylate.run.read.read_board_and_recorder", read_board_and_recorder)


@pytest.mark.usefixtures("captured_board")
def test_the_verbs_print_one_json_object_on_request() -> None:
    doctor = CliRunner().invoke(doctor_verb.command, ["--json"])
    assert doctor.exit_code == 0
    assert {check["group"] for check in json.loads(doctor.stdout)["checks"]} == {
        "measuring",
        "explaining",
        "settings",
    }
    facts = CliRunner().invoke(facts_verb.command, ["--json"])
    assert facts.exit_code == 0
    assert any(fact["name"] == "kernel_release" for fact in json.loads(facts.stdout)["facts"])


@pytest.mark.usefixtures("captured_board")
def test_the_tables_fit_80_columns_and_show_a_board_s_words_without_obeying_them() -> None:
    runner = CliRunner(env={"COLUMNS": "80"})
    for verb in (doctor_verb.command, facts_verb.command):
        result = runner.invoke(verb, [])
        assert result.exit_code == 0, result.output
        assert all(len(line) <= 80 for line in result.output.splitlines())
        assert "\x1b[2J" not in result.output
    assert "[red] [2Jevil[/red] [/nonsense]" in result.output
