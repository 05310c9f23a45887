"""Facts of a board's boot, each with the line of the log that it comes from.

The log is the kernel's own, read through the probe, or what the console recorded. A ring buffer
that has wrapped has lost the boot, which is where nearly all of these lines are: a fact reports
that, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from whylate.boards.facts import sources
from whylate.boards.facts.bootlog.l2c import L2C
from whylate.boards.facts.bootlog.lines import CLOCKS, PROCESSOR, SYSTEM
from whylate.boards.facts.bootlog.log import BootLog, parse
from whylate.boards.facts.reading import Files, decode, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

#: The name under which the kernel's log is requested; it is read by syslog(2), not from there.
KERNEL_LOG = "/dev/kmsg"
#: A PC with some dozens of CPUs has printed all that is needed here within 100 KiB.
LOG_LIMIT = 128 * 1024
SOURCE = "kernel log"


def bootlog_facts(lines: Iterable[str], source: str) -> list[Fact]:
    """Decode the last boot in the lines of a kernel's log; each name occurs once.

    `source` names the log ("kernel log", "console.log") and begins the source of every fact,
    followed by the line. Never raises on the content of the lines, and takes time in proportion
    to them. The lines are not split here.
    """
    log = parse(lines, source)
    rows = (*SYSTEM, *PROCESSOR, *CLOCKS, *L2C)
    return [_state(log), *(fact for row in rows for fact in row.facts(log))]


def _state(log: BootLog) -> Fact:
    if log.has_start:
        return make_fact("boot_log", "from the boot on", log.source)
    oldest = next((line for line in log.lines if line.time_s is not None), None)
    if oldest is None and not any(line.text for line in log.lines):
        return make_fact("boot_log", None, f"{log.source}: empty")
    since = "" if oldest is None else f": the oldest line left is of {oldest.time_s:.0f} s"
    return make_fact("boot_log", f"boot lines are gone{since}", log.source)


def read_facts(files: Files) -> list[Fact]:
    """Decode the kernel's log in a snapshot; one fact with the reason where it is not readable."""
    content = files.content(KERNEL_LOG)
    if content is None:
        return []
    if content.error is not None:
        hint = " (kernel.dmesg_restrict: for root alone)" if content.error == "EPERM" else ""
        source = f"{SOURCE}: not readable ({content.error}){hint}"
        return [make_fact("boot_log", None, source)]
    facts = bootlog_facts(decode(content.data).split("\n"), SOURCE)
    if content.truncated:
        size = len(content.data) // 1024
        facts.append(make_fact("boot_log_cut", f"after its oldest {size} KiB", SOURCE))
    return facts


BOOT_LOG: tuple[sources.Source, ...] = (
    sources.Derived(read_facts, (FileRequest(KERNEL_LOG, LOG_LIMIT, kind="kernel log"),)),
)
