"""Crashes are recognised in what consoles really said, and nothing that a console says hurts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.recording.console.crashes import (
    FATAL,
    MAX_CRASHES,
    MAX_FRAME,
    MAX_FRAMES,
    MAX_HEADLINE,
    MAX_PROGRAM_CRASHES,
    Crash,
    CrashFinder,
    find_crashes,
)

CONSOLES = Path(__file__).parent / "data" / "consoles"

#: The file, and of each crash: its kind, a part of its headline, a part of its backtrace.
CAPTURED: list[tuple[str, list[tuple[str, str, str]]]] = [
    ("pc-oops", [("oops", "BUG: unable to handle page fault for address: 0000000000001234",
                  "RIP: 0010:crash_step_two.constprop.0+0x5/0x11 [crashme]")]),
    ("virt-arm64-oops", [("oops", "Unable to handle kernel paging request at virtual address",
                          "crash_step_two.constprop.0+0x14/0x1c [crashme]")]),
    ("pc-oopspanic", [("panic", ("BUG: unable to handle page fault for address: 0000000000001234; "
                       "then Kernel panic - not syncing: Fatal exception"), "crash_step_two")]),
    ("virt-arm64-oopspanic", [("panic", ("Unable to handle kernel paging request at virtual "
                               "address 0000000000001234; then Kernel panic - not syncing: Oops: "),
                               "crash_step_two")]),
    ("pc-panic", [("panic", "Kernel panic - not syncing: sysrq triggered crash",
                   "sysrq_handle_crash+0x16/0x20")]),
    ("virt-arm64-panic", [("panic", "Kernel panic - not syncing: sysrq triggered crash",
                           "sysrq_handle_crash+")]),
    ("virt-arm64-init-killed", [("panic", ("Kernel panic - not syncing: Attempted to kill init! "
                                 "exitcode=0x00007f00"), "do_group_exit+0x3c/0xa0")]),
    ("pc-gpf", [("oops", "general protection fault, probably for non-canonical address",
                 "non_canonical+0xe/0x19 [crashme]")]),
    ("pc-bug", [("bug", "kernel BUG at drivers/crashme/crashme.c:39!", "crashme_init+")]),
    ("virt-arm64-warn", [("warning", ("crashme: a warning with a reason: WARNING: CPU: 0 PID: 100 "
                          "at drivers/crashme/crashme.c:37 crashme_init+0x3c/0x1000 [crashme]"),
                          "do_one_initcall+")]),
    ("pc-warn", [("warning", "crashme: a warning with a reason: WARNING:", "crashme_init+")]),
    ("pc-atomic", [("bug", "BUG: scheduling while atomic: insmod/104/0x00000002", "msleep+"),
                   ("warning", "returned with preemption imbalance: WARNING:", "do_one_init")]),
    ("pc-hung", [("hung task", "INFO: task stuck-worker:106 blocked for more than 3 seconds.",
                  "sleeper+0x1b/0x30 [crashme]")]),
    ("virt-arm64-hung", [("hung task", ("INFO: task stuck-worker:101 blocked for more than 3 "
                          "seconds."), "sleeper+0x28/0x40 [crashme]")]),
    ("pc-soft", [("soft lockup", "watchdog: BUG: soft lockup - CPU#1 stuck for 9s! [spinner:106]",
                  "spinner+0x29/0x74 [crashme]")]),
    ("virt-arm64-soft", [("rcu stall", "rcu: INFO: rcu_preempt self-detected stall on CPU",
                          "spinner+0x48/0xb4 [crashme]"),
                         ("soft lockup", ("watchdog: BUG: soft lockup - CPU#1 stuck for 15s! "
                          "[spinner:102]"), "spinner+0x48/0xb4 [crashme]")]),
    ("pc-rcu", [("rcu stall", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                 "rcu_spinner+0x27/0x40 [crashme]")]),
    ("virt-arm64-rcu", [("rcu stall", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                         "rcu_spinner+")]),
    ("pc-oom", [("out of memory", "Out of memory: Killed process 107 (whylate-probe)",
                 "out_of_memory+"),
                ("out of memory", "Out of memory: Killed process 111 (tail)", "out_of_memory+")]),
    ("freebsd-arm64-panic", [("panic", "panic: data abort with spinlock held",
                              "sched_clock() at statclock+0x138")]),
]  # fmt: skip


def read(name: str) -> str:
    return (CONSOLES / f"{name}.txt").read_bytes().decode()


@pytest.mark.parametrize(("name", "expected"), CAPTURED, ids=[name for name, _ in CAPTURED])
def test_a_real_crash_is_recognised_and_told_once(
    name: str, expected: list[tuple[str, str, str]]
) -> None:
    text = read(name)
    found = find_crashes(text)
    assert [crash.kind for crash in found] == [kind for kind, _, _ in expected]
    for crash, (_, headline, frame) in zip(found, expected, strict=True):
        assert headline in crash.headline
        assert any(frame in line for line in crash.backtrace), crash.backtrace
        if crash.kind != "out of memory":
            # The line is that of the headline's own words, behind any reason before it.
            words = crash.headline.split("; then ")[0].split(": WARNING")[-1][-30:]
            assert words in text.split("\n")[crash.line - 1]
    assert find_crashes(text.encode()) == found


@pytest.mark.parametrize("path", sorted(CONSOLES.glob("*.txt")), ids=lambda path: path.stem)
def test_every_capture_is_bounded_and_small(path: Path) -> None:
    assert path.stat().st_size < 20 << 10
    assert find_crashes(path.read_bytes())


def test_the_probe_killed_for_memory_is_fatal_and_another_is_not() -> None:
    probe, other = find_crashes(read("pc-oom"))
    assert probe.fatal
    assert not other.fatal
    assert not Crash("warning", "WARNING: at x", (), 1).fatal
    assert all(Crash(kind, "", (), 1).fatal for kind in FATAL)


#: As kernel/watchdog_hld.c, arch/arm/kernel/traps.c, kernel/rcu/tree_stall.h and
#: arch/x86/mm/fault.c of several versions print them.
FORMATS = [
    ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "hard lockup"),
    ("watchdog: Watchdog detected hard LOCKUP on cpu 3", "hard lockup"),
    ("watchdog: CPU2: Watchdog detected hard LOCKUP on cpu 3", "hard lockup"),
    ("NMI watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [kworker/0:1:23]", "soft lockup"),
    ("BUG: soft lockup - CPU#0 stuck for 67s! [migration/0:8]", "soft lockup"),
    ("INFO: rcu_sched self-detected stall on CPU { 0}  (t=2100 jiffies)", "rcu stall"),
    ("INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0)", "rcu stall"),
    ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }", "rcu stall"),
    ("Unable to handle kernel NULL pointer dereference at virtual address 00000000", "oops"),
    ("Internal error: Oops: 17 [#1] PREEMPT SMP ARM", "oops"),
    ("Internal error: Oops - undefined instruction: 0 [#1] SMP ARM", "oops"),
    ("BUG: unable to handle kernel NULL pointer dereference at 0000000000000008", "oops"),
    ("BUG: kernel NULL pointer dereference, address: 0000000000000008", "oops"),
    ("Unhandled fault: imprecise external abort (0x1406) at 0x00000000", "oops"),
    ("Bad mode in Error handler detected on CPU1, code 0xbf000002 -- SError", "oops"),
    ("SError Interrupt on CPU3, code 0x00000000bf000002 -- SError", "oops"),
    ("Insufficient stack space to handle exception!", "oops"),
    ("Fatal trap 12: page fault while in kernel mode", "oops"),
    ("BUG: KASAN: use-after-free in foo+0x1/0x2", "bug"),
    ("BUG: sleeping function called from invalid context at kernel/locking/rtmutex.c:46", "bug"),
    ("INFO: task (sd-pam):1 x:123 blocked for more than 120 seconds.", "hung task"),
    ("INFO: task dd:123 blocked in I/O wait for more than 122 seconds.", "hung task"),
    ("INFO: task dd:123 blocked  for more than 122 seconds.", "hung task"),
    ("INFO: task dd:123 can't die for more than 143 seconds.", "hung task"),
    ("INFO: task dd:123, parent sh:99 blocked for more than 122 seconds.", "hung task"),
    ("INFO: task dd:123 blocked for more than 120 s.", "hung task"),
    ("int3: 0000 [#1] PREEMPT SMP NOPTI", "oops"),
    ("int3: 0000 [#1]", "oops"),
    ("alignment check: 0000 [#1] SMP PTI", "oops"),
    ("general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP", "oops"),
    ("general protection fault: 0000 [#1] SMP", "oops"),
    ("Oops: int3: 0000 [#1] SMP NOPTI", "oops"),
    ("unexpected #VE: 0000 [#1]", "oops"),
    ("something that is not known yet: 0003 [#12] PREEMPT_RT SMP", "oops"),
    ("illegal operation: 0001 ilc:1 [#1] SMP", "oops"),
    ("Memory cgroup out of memory: Killed process 99 (stress) total-vm:1kB", "out of memory"),
    ("Out of memory: Kill process 99 (stress) score 900 or sacrifice child", "out of memory"),
    ("WARNING: at net/sched/sch_generic.c:255 dev_watchdog+0x1/0x2()", "warning"),
    ("UBSAN: array-index-out-of-bounds in drivers/x.c:1:2", "warning"),
    ("BUG kmalloc-64 (Not tainted): Object already free", "bug"),
    ("BUG kmalloc-1k (Tainted: G           OE     ): Redzone overwritten", "bug"),
    ("CFI failure at crash_it+0x10/0x20 [m] (target: f+0x0/0x4; expected type: 0x1)", "bug"),
    ("CFI failure (target: f+0x0/0x4):", "bug"),
    ("[ INFO: possible circular locking dependency detected ]", "warning"),
    ("[ INFO: possible recursive locking detected ]", "warning"),
    ("[ INFO: inconsistent lock state ]", "warning"),
    ("[ INFO: suspicious RCU usage. ]", "warning"),
    ("[ BUG: bad unlock balance detected! ]", "bug"),
    ('irq 16: nobody cared (try booting with the "irqpoll" option)', "warning"),
    ("irq event 16: bogus return value ffff8800", "warning"),
    ("a.out[12]: segfault at 0 ip 0000 sp 0000 error 4 in a.out", "program crash"),
    ("Web Content[12]: segfault at 0 ip 0000 sp 0000 error 4 in libxul.so", "program crash"),
    ("traps: a.out[123] general protection fault ip:401136 sp:7ffe error:0", "program crash"),
    ("traps: a.out[123] trap invalid opcode ip:401136 sp:7ffe error:0 in a.out", "program crash"),
    ("a.out[123]: unhandled signal 11 code 0x1 at 0x0000000000000000", "program crash"),
    ("a.out[123]: unhandled level 2 translation fault (11) at 0x00, esr 0x9", "program crash"),
    ("a.out: unhandled page fault (11) at 0x00000000, code 0x017", "program crash"),
    ("potentially unexpected fatal signal 11.", "program crash"),
    ("Segmentation fault (core dumped)", "program crash"),
    ("./run.sh: line 3:   412 Aborted                 (core dumped) ./a.out", "program crash"),
    ("Process 812 (a.out) of user 0 dumped core.", "program crash"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "kind"), FORMATS, ids=[message[:40] for message, _ in FORMATS])
@pytest.mark.parametrize(
    "prefix",
    ["", "[   12.345678] ", "<0>[   12.345678][ T123] ", "<4>", "\x1b[1;31m[   12.345678]\x1b[0m ",
     "board# ls /proc[   12.345678] ", "Jan  1 00:00:01 board kernel: [   12.345678] ",
     "downloading 17%\r[   12.345678] ", "[12.3456] ",
     "downloading, and this line goes on and on and on and on and on and on 17%\r"],
    ids=["bare", "stamp", "level and thread", "level", "colour", "prompt", "syslog", "overwritten",
         "short stamp", "overwritten and without a stamp"],
)  # fmt: skip
def test_a_message_is_known_by_its_words_whatever_stands_before_it(
    message: str, kind: str, prefix: str
) -> None:
    (crash,) = find_crashes(f"hello\r\n{prefix}{message}\r\nbye\r\n")
    assert (crash.kind, crash.headline, crash.line) == (kind, message, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd083]",
        "[    1.000000] Kernel command line: panic=-1 oops=panic softlockup_panic=1",
        "gdb: analysed core dumped yesterday",
        "[    1.0] INFO: lockdep is turned off.",
        "[    1.0] irq 16: affinity broken",
        "[ INFO: ready ]",
        "BUG report at https://example.org (see there): fixed",
        "[    1.000000] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "[    1.000000] rcu: Hierarchical RCU implementation.",
        "don't panic: it is only a game",
        "DEBUG: nothing",
        "make: warning: Clock skew detected",
        "test: 0001 [#7]",
        "worker: 0042 [#7] done",
        "see int3: 0000 [#1]",
        "merged: beef [#12] SMPTE",
        "int3: not here",
        "[    1.0] INFO: task cat:115 is blocked on a mutex likely owned by task cat:114.",
        "[    1.0] INFO: task cat:115 <reader> blocked on an rw-semaphore likely owned by task x:1",
        "[    1.0] INFO: task management started",
    ],
)
def test_what_is_no_crash_is_none(text: str) -> None:
    assert find_crashes(text) == ()


def test_lines_of_another_cpu_between_are_no_harm() -> None:
    quiet = find_crashes(read("virt-arm64-oops"))
    noisy = read("virt-arm64-oops").replace("\r\n", "\r\n[    9.9] eth0: link is up\r\nlogin: \r\n")
    (crash,) = find_crashes(noisy)
    assert crash.backtrace == quiet[0].backtrace
    assert crash.headline == quiet[0].headline


def test_two_cpus_that_fall_at_once_are_one_story_and_one_later_is_another() -> None:
    oops = "[    1.0] Internal error: Oops: {n} [#{n}]\n[    1.0]  step_{n}+0x1/0x2\n"
    end = "[    2.0] ---[ end trace 0000000000000000 ]---\n"
    both = oops.format(n=1) + oops.format(n=2) + end
    assert len(find_crashes(both)) == 1
    assert find_crashes(both)[0].backtrace == ("step_1+0x1/0x2", "step_2+0x1/0x2")
    assert len(find_crashes(oops.format(n=1) + end + oops.format(n=2) + end)) == 2


def test_a_panic_belongs_to_a_fatal_report_close_before_it_and_to_no_other() -> None:
    panic = "[    9.0] Kernel panic - not syncing: {}\n"
    oops = "[    1.0] Internal error: Oops: 1 [#1]\n[    1.0] ---[ end trace 0 ]---\n"
    warning = "[    1.0] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2\n"
    boot = "[    0.0] Booting Linux on physical CPU 0x0\n"

    def kinds(text: str) -> list[str]:
        return [crash.kind for crash in find_crashes(text)]

    assert kinds(oops + panic.format("Fatal exception")) == ["panic"]
    assert kinds(oops + "[ 2.0] fine\n" * 300 + panic.format("x")) == ["oops", "panic"]
    assert kinds(oops + boot + panic.format("x")) == ["oops", "panic"]
    assert kinds(warning + panic.format("x")) == ["warning", "panic"]
    assert kinds(warning + panic.format("panic_on_warn set ...")) == ["panic"]


def test_a_lockup_that_is_reported_again_ends_in_the_panic_that_follows() -> None:
    stuck = "[  {}.0] watchdog: BUG: soft lockup - CPU#1 stuck for {}s! [spinner:102]\n"
    text = "".join(stuck.format(22 * n, 22 * n) + "[ 1.0]  spin+0x1/0x2\n" for n in range(1, 9))
    (crash,) = find_crashes(text)
    assert (crash.kind, crash.backtrace) == ("soft lockup", ("spin+0x1/0x2",))
    (crash,) = find_crashes(text + "[ 99.0] Kernel panic - not syncing: softlockup: hung tasks\n")
    assert crash.kind == "panic"
    assert crash.headline.startswith("watchdog: BUG: soft lockup - CPU#1 stuck for 22s!")


def test_a_call_trace_that_nobody_announced_is_told_with_the_line_before_it() -> None:
    text = (
        "[    1.0] kworker/0:1: page allocation failure: order:4, mode:0xcc0\n"
        "[    1.0] CPU: 0 PID: 7 Comm: kworker/0:1 Not tainted 6.1.0 #1\n"
        "[    1.0] Hardware name: x\n[    1.0] Call trace:\n[    1.0]  dump_stack+0x18/0x34\n"
    )
    (crash,) = find_crashes(text)
    assert crash.kind == "call trace"
    assert "page allocation failure" in crash.headline
    assert not crash.fatal


def test_an_arm_backtrace_is_kept_in_both_its_spellings() -> None:
    text = (
        "[ 1.0] Internal error: Oops: 5 [#1] SMP ARM\n[ 1.0] PC is at probe+0x1c/0x40\n"
        "[ 1.0] [<c0310e5c>] (unwind_backtrace) from [<c030b7b4>] (show_stack+0x10/0x14)\n"
        "[ 1.0]  unwind_backtrace from show_stack+0x18/0x1c\n[ 1.0]  irq from 0xc0008000\n"
    )
    assert len(find_crashes(text)[0].backtrace) == 4


def test_text_that_would_act_in_a_terminal_is_shown_and_does_not() -> None:
    (crash,) = find_crashes("[ 1.0] Kernel panic - not syncing: \x1b]0;x\x07 \u202e\x00 <b>\n")
    assert crash.headline.isprintable()
    assert "\\x1b]0;x\\x07" in crash.headline


def test_what_is_kept_is_bounded_and_the_panic_at_the_end_is_kept_of_all() -> None:
    many = "".join(f"[ 1.0] WARNING: CPU: 0 PID: 1 at a.c:{n} f+0x1/0x2\n" for n in range(5000))
    crashes = find_crashes(many + "[ 1.0] Kernel panic - not syncing: at last " + "x" * 9999 + "\n")
    assert len(crashes) == MAX_CRASHES
    assert crashes[-1].kind == "panic"
    assert len(crashes[-1].headline) == MAX_HEADLINE
    frames = "[ 1.0]  f" + "x" * 100 + "+0x1/0x2" + "y" * 400 + "\n"
    (crash,) = find_crashes("[ 1.0] Kernel panic - not syncing: x\n" + frames * 5000)
    assert len(crash.backtrace) == MAX_FRAMES
    assert max(map(len, crash.backtrace)) == MAX_FRAME


OOM = "[ 1.0] Out of memory: Killed process {n} (stress) total-vm:1kB\n"
WARNED = "[ 1.0] WARNING: CPU: 0 PID: 1 at a.c:{n} f+0x1/0x2\n"
STUCK = "[ 9.0] watchdog: BUG: soft lockup - CPU#1 stuck for {s}s! [spinner:102]\n"


@pytest.mark.parametrize("harmless", [OOM, WARNED], ids=["killed for memory", "warnings"])
@pytest.mark.parametrize("count", [MAX_CRASHES - 1, MAX_CRASHES, MAX_CRASHES + 3, 500])
def test_what_is_harmless_does_not_crowd_out_what_is_fatal(harmless: str, count: int) -> None:
    many = "".join(harmless.format(n=n) for n in range(count))
    lockups = "".join(STUCK.format(s=22 * n) for n in range(1, 50))
    crashes = find_crashes(many + lockups + many)
    assert [crash.kind for crash in crashes if crash.fatal] == ["soft lockup"]
    programs = sum(crash.kind == "out of memory" for crash in crashes)
    assert programs <= MAX_PROGRAM_CRASHES
    kernel = len(crashes) - programs
    assert kernel == 1 if programs else MAX_CRASHES - 1 <= kernel <= MAX_CRASHES
    # A panic takes the last place, and then a fatal one still has its own.
    panic = "[ 9.0] Kernel panic - not syncing: x\n[ 0.0] Linux version 6\n"
    kinds = [crash.kind for crash in find_crashes(many + panic + lockups)]
    assert kinds[-2:] == ["panic", "soft lockup"]
    assert len(kinds) - kinds.count("out of memory") <= MAX_CRASHES


SEGFAULT = "[ 5.0] cc1[{n}]: segfault at 0 ip 00005500 sp 00007ffe error 4 in cc1[5500+3c]\n"


def test_warnings_leave_room_for_the_crashes_of_programs_and_each_kind_for_the_others() -> None:
    warnings = "".join(WARNED.format(n=n) for n in range(39))
    last = find_crashes(warnings + SEGFAULT.format(n=77))[-1]
    assert (last.sort, last.more) == ("segfault", 0)
    kills = "".join(OOM.format(n=n) for n in range(200))
    sorts = {crash.sort for crash in find_crashes(kills + SEGFAULT.format(n=77) + warnings)}
    assert sorts == {"OOM kill", "segfault", "warning"}


@pytest.mark.parametrize("count", [MAX_PROGRAM_CRASHES, MAX_PROGRAM_CRASHES + 1, 1000])
@pytest.mark.parametrize("line", [OOM, SEGFAULT], ids=["killed for memory", "segfaults"])
def test_crashes_of_programs_without_a_place_are_counted(line: str, count: int) -> None:
    crashes = find_crashes("".join(line.format(n=n) for n in range(count)))
    assert len(crashes) == MAX_PROGRAM_CRASHES
    assert [crash.more for crash in crashes[:-1]] == [0] * (MAX_PROGRAM_CRASHES - 1)
    assert crashes[-1].more == count - MAX_PROGRAM_CRASHES


def test_a_report_of_two_messages_without_a_place_counts_once() -> None:
    kill = "[ 2.0] tail invoked oom-killer: gfp_mask={n}\n" + OOM
    crashes = find_crashes("".join(kill.format(n=n) for n in range(100)))
    assert len(crashes) + crashes[-1].more == 100
    ours = find_crashes("".join(kill.format(n=n) for n in range(99))
                        + kill.replace("stress", "whylate-probe").format(n=99))  # fmt: skip
    assert ours[-1].fatal
    assert len(ours) + sum(crash.more for crash in ours) == 100


def test_the_probe_killed_after_many_others_is_told() -> None:
    many = "".join(OOM.format(n=n) for n in range(100))
    probe = (
        "[ 2.0] tail invoked oom-killer: gfp_mask=0x1\n[ 2.0] Call Trace:\n[ 2.0]  f+0x1/0x2\n"
        "[ 2.0] Out of memory: Killed process 9 (whylate-probe) total-vm:1kB\n"
    )
    last = find_crashes(many + probe + many)[-1]
    assert last.fatal
    assert last.backtrace == ("f+0x1/0x2",)


def test_crashes_are_told_in_the_order_in_which_they_began() -> None:
    many = "".join(WARNED.format(n=n) for n in range(MAX_CRASHES))
    panic = "[ 9.0] Kernel panic - not syncing: panic_on_warn set ...\n"
    # The first one had to make room, and comes back when it turns out how it ended.
    crashes = find_crashes(many + STUCK.format(s=22) + WARNED.format(n=0) + panic)
    assert crashes[0].kind == "panic"
    assert crashes[0].line == 1
    assert [crash.line for crash in crashes] == sorted(crash.line for crash in crashes)


def test_each_process_killed_is_told_where_nobody_says_who_asked_for_memory() -> None:
    first, second = find_crashes(OOM.replace("stress", "whylate-probe").format(n=1) + OOM)
    assert first.fatal
    assert not second.fatal


@pytest.mark.parametrize(
    "before",
    [
        "".join(f"writing {n:5}%\r" for n in range(400)),
        "\r" * 5000,
        "#" * 5000,
        "#" * 5000 + "[    9.0] ",
        "#" * 1100 + "[    9.0] ",
        "".join(f"\\x{n % 256:02x}" for n in range(3000)) + "[    9.0] ",
    ],
    ids=["progress", "returns", "no return", "no return, a stamp", "longer than one", "a frame"],
)
def test_what_stands_before_a_message_may_be_long(before: str) -> None:
    text = f"hello\n{before}{STUCK[7:].format(s=22).strip()}\r\nbye\n"
    (crash,) = find_crashes(text)
    assert (crash.kind, crash.line) == ("soft lockup", 2)
    assert crash.headline == "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [spinner:102]"


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_a_console_that_comes_in_pieces_says_the_same(size: int) -> None:
    text = "".join(read(name) for name, _ in CAPTURED)
    data = (
        text.encode()
        + b"\xff\xe2\x82"
        + ("#" * 9000 + STUCK.replace("#1", "#7").format(s=9)).encode()
    )
    finder = CrashFinder()
    for at in range(0, len(data), size):
        finder.feed(data[at : at + size])
    assert finder.finish() == find_crashes(data)
    assert finder.finish()[-1].kind == "soft lockup"


def test_what_has_no_line_end_yet_is_found_at_the_end() -> None:
    finder = CrashFinder()
    finder.feed(b"hello\n[ 1.0] Kernel panic - not syncing: x")
    assert finder.crashes() == ()
    (crash,) = finder.finish()
    assert crash.headline == "Kernel panic - not syncing: x"


def test_a_line_that_does_not_end_is_not_remembered() -> None:
    finder = CrashFinder()
    began = time.perf_counter()
    for _ in range(2000):
        finder.feed(b"#" * 10_000)
        assert len(finder._partial) <= 4000
    assert time.perf_counter() - began < 20
    finder.feed(STUCK.format(s=22).encode())
    assert [crash.kind for crash in finder.crashes()] == ["soft lockup"]


WORDS = st.sampled_from(
    ["Kernel panic - not syncing", "BUG: ", "Oops: ", "INFO: task ", ":1 blocked for more than ",
     "rcu_", "[ 1.5] ", "<4>", "\x1b[0m", "\r", "\n", "Call trace:\n", " f+0x1/0x2\n", "panic: x",
     "---[ end trace ", "---[ cut here ]---\n", "invoked oom-killer: ", "\x1b[", "[", "a" * 50,
     "Out of memory: Killed process ", "cpuid = 1\n", "WARNING: at ", " from ", "() at "]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(WORDS | st.text(max_size=20), max_size=60).map("".join) | st.binary(max_size=300))
def test_no_text_raises_and_what_is_found_is_bounded(text: str | bytes) -> None:
    crashes = find_crashes(text)
    assert len(crashes) <= MAX_CRASHES
    for crash in crashes:
        assert crash.headline.isprintable()
        assert len(crash.headline) <= MAX_HEADLINE
        assert len(crash.backtrace) <= MAX_FRAMES
        assert all(line.isprintable() and len(line) <= MAX_FRAME for line in crash.backtrace)


@pytest.mark.parametrize(
    "unit",
    ["a" * 1000, "a+0x", "INFO: task :1 ", "\x1b[0", "[ 1.", "kernel: ", "\r", "BUG: \n",
     "[ 1.0] Call trace:\n", "panic: \n", " a_b() \n", "[ 1.0] WARNING: at x\n", "x\r", "\r[ 1.0]",
     "INFO: task x:1 blocked ", "a: 0000 [#1] ", "int3: 0000 [#1]\r"],
    ids=repr,
)  # fmt: skip
def test_hostile_text_takes_time_in_proportion(unit: str) -> None:
    start = "[ 1.0] Kernel panic - not syncing: x\n"

    def seconds(size: int) -> float:
        text = start + unit * (size // len(unit))
        # And as lines of the greatest length that is looked at.
        lines = start + "\n".join(text[at : at + 1999] for at in range(0, len(text), 1999))
        began = time.perf_counter()
        find_crashes(text)
        find_crashes(lines)
        return time.perf_counter() - began

    once = min(seconds(100_000) for _ in range(3))
    fourfold = min(seconds(400_000) for _ in range(2))
    assert fourfold < 16 * max(once, 0.005), "four times the text, far more than four times as long"


def test_a_program_that_crashes_is_harmless_unless_it_is_the_probe() -> None:
    line = "[ 1.0] {}[12]: segfault at 0 ip 0 sp 0 error 4 in x[1+1]\n"
    other, probe = find_crashes(line.format("a.out") + line.format("whylate-probe"))
    assert (other.kind, probe.kind) == ("program crash", "program crash")
    assert not other.fatal
    assert probe.fatal


def test_a_program_that_crashes_within_a_report_takes_no_line_of_it() -> None:
    quiet = find_crashes(read("virt-arm64-oops"))
    lines = read("virt-arm64-oops").split("\n")
    at = next(number for number, line in enumerate(lines) if "Call trace" in line)
    lines.insert(at + 2, "[    9.9] a.out[12]: segfault at 0 ip 0 sp 0 error 4 in a.out\r")
    oops, program = find_crashes("\n".join(lines))
    assert (oops.headline, oops.backtrace) == (quiet[0].headline, quiet[0].backtrace)
    assert (program.kind, program.backtrace) == ("program crash", ())


def test_lockdeps_report_in_brackets_has_its_call_trace() -> None:
    text = (
        "[ 1.0] =======================================================\n"
        "[ 1.0] [ INFO: possible circular locking dependency detected ]\n"
        "[ 1.0] 3.10.0 #1 Not tainted\n[ 1.0] Call Trace:\n[ 1.0]  print_circular_bug+0x1/0x2\n"
    )
    (crash,) = find_crashes(text)
    assert (crash.kind, crash.backtrace) == ("warning", ("print_circular_bug+0x1/0x2",))
