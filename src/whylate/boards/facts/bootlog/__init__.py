"""Facts that a board told while it booted, each with the line of the log that it comes from.

The log is the kernel's own, read through the probe, or what the console recorded: the functions
take lines and do not ask from where. A ring that has gone round has lost the boot, which is
where nearly all of these lines are; that is said, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from whylate.boards.facts.bootlog.clocks import boot_clock_facts
from whylate.boards.facts.bootlog.l2c import l2c_facts
from whylate.boards.facts.bootlog.log import BootLog, parse
from whylate.boards.facts.bootlog.processor import boot_processor_facts
from whylate.boards.facts.bootlog.system import boot_system_facts
from whylate.boards.facts.reading import Files, decode, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

#: The name under which the kernel's log is asked for; it is read by syslog(2), not from there.
KERNEL_LOG = "/dev/kmsg"
#: A PC with some dozens of CPUs has said all that is looked for here within 100 KiB.
LOG_LIMIT = 128 * 1024
SOURCE = "kernel log"

WANTED = (FileRequest(KERNEL_LOG, LOG_LIMIT, kind="kernel log"),)


def bootlog_facts(lines: Iterable[str], source: str) -> list[Fact]:
    """Decode the last boot in some lines of a kernel's log; each name occurs once.

    `source` names the log ("kernel log", "console.log") and begins the source of every fact,
    followed by the line. Never raises on what the lines say, and takes time in proportion to
    them. The lines end where lines end: they are not split here.
    """
    log = parse(lines, source)
    return [
        _state(log),
        *boot_system_facts(log),
        *boot_processor_facts(log),
        *boot_clock_facts(log),
        *l2c_facts(log),
    ]


def _state(log: BootLog) -> Fact:
    if log.has_start:
        return make_fact("boot_log", "from the boot on", log.source)
    oldest = next((line for line in log.lines if line.time_s is not None), None)
    if oldest is None and not any(line.text for line in log.lines):
        return make_fact("boot_log", None, f"{log.source}: empty")
    since = "" if oldest is None else f": the oldest line left is of {oldest.time_s:.0f} s"
    return make_fact("boot_log", f"boot lines are gone{since}", log.source)


def read_facts(files: Files) -> list[Fact]:
    """Decode the kernel's log in a snapshot; one fact that says why where it was not readable."""
    content = files.content(KERNEL_LOG)
    if content is None:
        return []
    if content.error is not None:
        hint = " (kernel.dmesg_restrict: for root alone)" if content.error == "EPERM" else ""
        source = f"{SOURCE}: not readable ({content.error}){hint}"
        return [make_fact("boot_log", None, source)]
    found = bootlog_facts(decode(content.data).split("\n"), SOURCE)
    if content.truncated:
        size = len(content.data) // 1024
        found.append(make_fact("boot_log_cut", f"after its oldest {size} KiB", SOURCE))
    return found
