"""By which words the kernel's messages of crashes are known.

The formats are those of Linux (arch/*/kernel/traps.c, arch/*/mm/fault.c, kernel/panic.c,
kernel/watchdog.c, kernel/hung_task.c, kernel/rcu/tree_stall.h, kernel/locking/lockdep.c,
kernel/irq/spurious.c, kernel/cfi.c, mm/oom_kill.c, mm/slub.c), FreeBSD's kern_shutdown.c, and what
a shell and systemd-coredump print of a program.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal[
    "panic",
    "oops",
    "bug",
    "soft lockup",
    "hard lockup",
    "rcu stall",
    "hung task",
    "out of memory",
    "warning",
    "call trace",
    "program crash",
]

# Which words begin what. Of several the first one counts. Those that name themselves
# unmistakably may stand anywhere in a line, the others only where a message begins.
SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("panic", re.compile(r"Kernel panic - not syncing.*")),
    ("soft lockup", re.compile(r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - CPU#\d+ stuck for .*")),
    ("hard lockup", re.compile(r"(?:NMI )?[Ww]atchdog.{0,30} detected hard LOCKUP.*")),
    ("rcu stall", re.compile(r"(?:rcu: )?INFO: rcu_\w+ (?:self-)?detected (?:expedited )?stall.*")),
    ("rcu stall", re.compile(r"(?:rcu: )?rcu_\w+ kthread starved for \d+ jiffies.*")),
    # Newer kernels say what for ("blocked in I/O wait for"), others who the parent is.
    ("hung task", re.compile(r"INFO: task .{1,120}:\d+ (?:blocked|can't die)(?: .{0,30})?"
                             r" for more than \d+ s.*")),
    ("oops", re.compile(r"Unable to handle kernel .*")),
    ("oops", re.compile(r"BUG: (?:unable to handle|kernel NULL pointer dereference).*")),
    ("oops", re.compile(r"Fatal trap \d+: .*")),
    ("bug", re.compile(r"kernel BUG at .*")),
    ("oops", re.compile(r"^(?:Internal error|Oops|general protection fault|stack segment"
                        r"|invalid opcode|divide error|PANIC: double fault)\b.*")),
    ("oops", re.compile(r"^(?:Bad mode in|Insufficient stack space to handle|SError Interrupt on"
                        r"|Unhandled fault: |Kernel stack overflow).*")),
    # How die() of x86 and s390 heads its report: what for, the error code, how many it were.
    # Programs number things too: a name that is not known counts only with the kernel's flags.
    ("oops", re.compile(r"^(?:int3|alignment check|bounds|coprocessor segment overrun|debug"
                        r"|device not available|double fault|invalid TSS|overflow"
                        r"|segment not present|(?:simd|fpu) exception|control protection fault"
                        r"|unexpected #V[CE].{0,20}|Missing ENDBR.{0,80})"
                        r": [0-9a-f]{4,16} \[#\d{1,6}\].*")),
    ("oops", re.compile(r"^[A-Za-z#][^\[\]]{0,150}: [0-9a-f]{4,16} (?:ilc:\d )?\[#\d{1,6}\]"
                        r" (?:PREEMPT(?:_RT)?|SMP|DEBUG_PAGEALLOC|KASAN|PTI|NOPTI)\b.*")),
    ("bug", re.compile(r"^(?:\S{1,40}: )?BUG: .*")),
    # mm/slub.c, slab_bug(): the cache, and whether the kernel is tainted.
    ("bug", re.compile(r"^BUG \S{1,80} \((?:Not tainted|Tainted.{0,80})\): .*")),
    ("bug", re.compile(r"^CFI failure (?:at |\().*")),
    # Lockdep before 4.11; later it begins with WARNING.
    ("bug", re.compile(r"^\[ BUG: .{1,200} \]$")),
    ("warning", re.compile(r"^\[ INFO: .{0,40}(?:lock|RCU|dependency|state).{0,160} \]$")),
    ("warning", re.compile(r"^irq (?:event )?\d{1,6}: (?:nobody cared|bogus return value).*")),
    # A program, and not the kernel: arch/*/mm/fault.c, arch/*/kernel/traps.c, kernel/signal.c;
    # the shell that started it; systemd-coredump.
    ("program crash", re.compile(r"\S.{0,40}\[\d{1,10}\]: segfault at .*")),
    ("program crash", re.compile(r"^traps: \S.{0,40}\[\d{1,10}\] (?:trap |general protection)"
                                 r".*")),
    ("program crash", re.compile(r"\S.{0,40}\[\d{1,10}\]: unhandled (?:signal \d|level \d "
                                 r"|exception|page fault|.{0,60}fault \(\d).*")),
    ("program crash", re.compile(r"^\S.{0,40}: unhandled page fault \(\d{1,3}\) at .*")),
    ("program crash", re.compile(r"^potentially unexpected fatal signal \d.*")),
    ("program crash", re.compile(r"^(?:.{0,120}: .{0,10}\d{1,10} )?(?:Segmentation fault|Aborted"
                                 r"|Bus error|Illegal instruction|Floating point exception"
                                 r"|Trace/breakpoint trap).{0,20}\(core dumped\).{0,200}$")),
    ("program crash", re.compile(r"Process \d{1,10} \(\S.{0,40}\) of user \d{1,10} (?:dumped core"
                                 r"|terminated abnormally).*")),
    ("out of memory", re.compile(r"\S.{0,20} invoked oom-killer: .*")),
    ("out of memory", re.compile(r"(?:Memory cgroup out|Out) of memory: Kill(?:ed)? process .*")),
    ("warning", re.compile(r"^WARNING: (?:CPU: \d+ PID: \d+ )?at .*")),
    ("warning", re.compile(r"^(?:UBSAN|WARNING): \S.*")),
)  # fmt: skip
#: One search, to pass by the lines that begin nothing.
MAY_BEGIN = re.compile(
    r"Kernel panic|BUG|LOCKUP|rcu_|INFO: task|\[#\d|Unable to handle|Fatal trap|Internal error"
    r"|Oops|general protection|stack segment|invalid opcode|divide error|double fault|Bad mode"
    r"|Insufficient stack|SError|Unhandled fault|Kernel stack|f memory: Kill|oom-killer"
    r"|WARNING|UBSAN|CFI failure|\[ INFO: |nobody cared|bogus return value|: segfault at|^traps: "
    r"|unhandled |fatal signal|core dumped|dumped core|terminated abnormally"
)
