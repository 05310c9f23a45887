"""Crashes of programs are told from those of the kernel, and jobs that fail from both.

The lines are from real kernel logs that people published on GitHub; the origin stands with each.
"""

from __future__ import annotations

import pytest

from whylate.recording.console.crashes import find_crashes
from whylate.recording.manifest import AppEnd
from whylate.soak.causes import crash_causes, job_causes, worst
from whylate.soak.model import Cause, Outcome

#: The line, its kind, what it is. Origin: repository and number of the issue.
LINES = [
    # openwrt/openwrt 3989, during a build
    (("Mar 15 15:28:52 himawari kernel: [57345.506076] sparse[17287]: segfault at 0 ip "
     "000055a3e02575d4 sp 00007ffe20cd0c70 error 4 in sparse[55a3e0240000+3c000]"),
     "program-crashed", "segfault"),
    # ROCm/legacy-rocm-build 119
    (("[  119.943603] clang[2141]: segfault at 1028 ip 00000000016fc8e1 sp 00007fffc99bda08 error "
     "4 in clang[400000+250e000"), "program-crashed", "segfault"),
    # OP-TEE/optee_os 1620, a Raspberry Pi 3
    (("[  308.775514] idemix[152]: unhandled level 2 translation fault (11) at 0x00000000, esr "
     "0x92000006"), "program-crashed", "unhandled signal"),
    # longsleep/linux-pine64 60, an A64
    (("Aug 17 16:49:07 localhost kernel: abrt-hook-ccpp[28134]: unhandled level 1 translation "
     "fault (11) at 0x00000000, esr 0x92000005"), "program-crashed", "unhandled signal"),
    # clearlinux/distribution 3008
    (("[Tue Dec 19 19:53:46 2023] traps: pressure-vessel[244404] trap invalid opcode "
     "ip:7fa7c7ca33b4 sp:7ffd68505de0 error:0 in libc.so.6[7fa7c7c26000+178000]"),
     "program-crashed", "trap"),
    # IntersectMBO/cardano-node 369
    (("machine# [   94.587073] traps: cardano-node[933] trap invalid opcode ip:f4f519 "
     "sp:7fffe3bb81c8 error:0"), "program-crashed", "trap"),
    # genular/pandora 49
    (("May 07 21:43:54 doom kernel: Out of memory: Kill process 27438 (R) score 31 or sacrifice "
     "child"), "program-crashed", "OOM kill"),
    # ClangBuiltLinux/continuous-integration 120: init itself crashed, which the kernel survives not
    ("[   13.266388] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000004",
     "crashed", "panic"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind", "what"), LINES, ids=[line[-24:] for line, *_ in LINES])
def test_a_published_line_is_of_its_kind(line: str, kind: str, what: str) -> None:
    (cause,) = crash_causes(find_crashes(line), ())
    assert (cause.kind, cause.what, cause.count) == (kind, what, 1)


def test_programs_that_crash_again_are_one_cause_with_a_count() -> None:
    # openwrt/openwrt 3989: three processes of one build.
    log = "\n".join(
        f"[57345.5] sparse[{pid}]: segfault at 0 ip 000055a3e02575d4 sp 00007ffe20cd0c70 error 4 "
        "in sparse[55a3e0240000+3c000]"
        for pid in (17287, 17299, 17305)
    )
    (cause,) = crash_causes(find_crashes(log), ())
    assert (cause.what, cause.count) == ("segfault", 3)
    assert cause.why.startswith("sparse[17287]: segfault")


def test_programs_that_crash_more_often_than_is_kept_are_at_least_so_many() -> None:
    lines = [
        f"[ 9.0] cc1[{pid}]: segfault at 0 ip 0055 sp 007f error 4 in cc1" for pid in range(90)
    ]
    warnings = [
        f"[ 1.0] WARNING: CPU: 1 PID: 9 at drivers/x.c:{n} f+0x3c/0x1000" for n in range(39)
    ]
    shown = find_crashes("\n".join([*warnings, *lines]))
    (cause,) = crash_causes(shown, ())
    assert (cause.count, cause.at_least) == (90, True)
    # The kernel's log has the same 90 and is no reason to count them twice.
    (cause,) = crash_causes(shown, find_crashes("\n".join(lines)))
    assert (cause.count, cause.at_least) == (90, True)
    (cause,) = crash_causes(find_crashes("\n".join(lines[:7])), ())
    assert (cause.count, cause.at_least) == (7, False)


def test_what_console_and_kernel_log_both_show_counts_once() -> None:
    shown = find_crashes(LINES[1][0])
    logged = find_crashes("\n".join([LINES[1][0], LINES[2][0]]))
    causes = crash_causes(shown, logged)
    assert [(cause.what, cause.count) for cause in causes] == [
        ("segfault", 1),
        ("unhandled signal", 1),
    ]


def test_a_warning_of_the_kernel_is_no_cause() -> None:
    line = "WARNING: CPU: 1 PID: 9 at drivers/x.c:37 probe+0x3c/0x1000 [x]"
    assert crash_causes(find_crashes(line), ()) == []


@pytest.mark.parametrize(
    ("job", "kind", "what"),
    [
        (AppEnd(2, 0), "job-failed", "status 2"),
        (AppEnd(0, 15), "job-failed", "signal 15 (SIGTERM)"),
        (AppEnd(0, 11), "program-crashed", "signal 11 (SIGSEGV)"),
        (AppEnd(0, 40), "job-failed", "signal 40"),
    ],
)
def test_a_job_fails_with_its_status_or_its_signal(job: AppEnd, kind: str, what: str) -> None:
    (cause,) = job_causes(job)
    assert (cause.kind, cause.what) == (kind, what)
    assert cause.why.endswith(what)


@pytest.mark.parametrize("job", [None, AppEnd(0, 0)])
def test_a_job_that_ends_is_no_failure(job: AppEnd | None) -> None:
    assert job_causes(job) == []


KERNEL, PROGRAM = Cause("crashed", "oops", "an oops"), Cause("program-crashed", "segfault", "cc1")


@pytest.mark.parametrize(
    ("failure", "causes", "outcome"),
    [
        (None, [], "ok"),
        (None, [PROGRAM], "program-crashed"),
        (("job-failed", "status 2"), [PROGRAM], "program-crashed"),
        (("job-failed", "status 2"), [Cause("job-failed", "status 2", "")], "job-failed"),
        (("run-failed", "lost"), [PROGRAM], "program-crashed"),
        (("hung", "silent"), [PROGRAM], "hung"),
        (("no-boot", "silent"), [PROGRAM], "no-boot"),
        (("hung", "silent"), [PROGRAM, KERNEL], "crashed"),
        (("interrupted", "by us"), [KERNEL], "crashed"),
        (("interrupted", "by us"), [], "interrupted"),
        (("console-cut", "cut"), [PROGRAM], "program-crashed"),
    ],
)
def test_the_worst_is_the_outcome(
    failure: tuple[Outcome, str] | None, causes: list[Cause], outcome: str
) -> None:
    assert worst(failure, causes)[0] == outcome
