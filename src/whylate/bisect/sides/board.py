"""What a running board offers: its facts, and more of its files than a run reads."""

from __future__ import annotations

import re

from whylate.bisect.kinds import Kind
from whylate.bisect.sides.device_tree import parse_device_tree
from whylate.bisect.sides.facts import (
    FILES,
    OPTIONS,
    affinity_items,
    fact_items,
    machine_facts,
    priority_values,
)
from whylate.bisect.sides.model import Items, Side
from whylate.bisect.sides.options import parse_options
from whylate.bisect.sides.packages import parse_status
from whylate.boards.facts import WANTED, facts
from whylate.boards.facts.interrupts import read_affinities, read_rows
from whylate.boards.facts.kernel import find_configuration, unpack
from whylate.boards.facts.reading import Files, decode
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.facts.tasks import STATS, read_realtime_tasks
from whylate.text import clean

_MODULES = "/proc/modules"
_TREE = "/sys/firmware/fdt"
_STATUS = {
    "/var/lib/dpkg/status": "dpkg",
    "/usr/lib/opkg/status": "opkg",
    "/var/lib/opkg/status": "opkg",
}
_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
_THP = "/sys/kernel/mm/transparent_hugepage"
_QUEUE = "scheduler nr_requests read_ahead_kb rq_affinity nomerges wbt_lat_usec io_poll iostats"
_KHUGEPAGED = "alloc_sleep_millisecs scan_sleep_millisecs pages_to_scan max_ptes_none max_ptes_swap"
_PATTERNS = (
    *(f"/proc/sys/{'/'.join('*' * depth)}" for depth in range(2, 6)),
    "/sys/module/*/parameters/*",
    *(f"{_THP}/{name}" for name in ("shmem_enabled", "use_zero_page")),
    *(f"{_THP}/khugepaged/{name}" for name in _KHUGEPAGED.split()),
    *(f"/sys/kernel/mm/ksm/{name}" for name in ("pages_to_scan", "sleep_millisecs")),
    *(f"/sys/block/*/queue/{name}" for name in _QUEUE.split()),
)
#: Values that change by themselves, and names of the machine.
_PASSING = re.compile(
    r"/proc/sys/(fs/(dentry-state|inode-nr|inode-state|file-nr|aio-nr|quota/.*|binfmt_misc/.*)"
    r"|kernel/(random/.*|ns_last_pid|tainted|version|osrelease|ostype|hostname|domainname"
    r"|pty/nr|perf_event_max_sample_rate|bootloader_.*|cap_last_cap|stack_tracer_.*)"
    r"|net/netfilter/nf_conntrack_(count|buckets)|net/ipv4/tcp_fastopen_key"
    r"|crypto/fips_(?:name|version)|net/ipv6/conf/[^/]+/stable_secret|dev/cdrom/info|sunrpc/.*)"
    r"|/sys/module/[^/]+/parameters/.*(?:key|secret|pass).*",
)

#: What to read of a board.
REQUESTS: tuple[FileRequest, ...] = (
    *WANTED,
    FileRequest(_MODULES, 128 << 10),
    FileRequest(_TREE, 1 << 20),
    *(FileRequest(path, 64 << 10, kind="list") for path in _SLICES),
    *(FileRequest(pattern, 512) for pattern in _PATTERNS),
)
#: The most bytes to read of files that may be longer.
LONG_FILES = dict.fromkeys(_STATUS, 12 << 20)
_SETTING_PATH = re.compile(
    "|".join(re.escape(pattern).replace(r"\*", "[^/]+") for pattern in _PATTERNS)
)
#: Linux: include/linux/sched.h; field 9 of /proc/PID/stat.
_PF_KTHREAD = 0x00200000
_STAT = re.compile(rb"(\d{1,10}) \((.*)\) \S (.*)", re.DOTALL)
_OWN = "whylate-probe"


def board_side(name: str, snapshot: Snapshot, probe: ProbeFacts) -> Side:
    """Return what a board offers. Nothing that it answered makes it raise."""
    files = Files(snapshot, probe)
    known = facts(snapshot, probe)
    items, _ = fact_items(known)
    lacks = {
        Kind.FILE: "a board offers no file system: name its root, a tarball of it or its image",
        Kind.LINE: "a board offers no file system",
    }
    _add_options(files, items)
    _add_settings(snapshot, items)
    _add_interrupts(files, items)
    _add_threads(files, items)
    _add_packages(files, items, lacks)
    if (modules := files.data(_MODULES)) is not None:
        rows = [line.split() for line in decode(modules).split("\n")]
        items[Kind.MODULE] = Items({clean(row[0], 64): "loaded" for row in rows if row}, "loaded")
    blob = files.data(_TREE)
    properties = None if blob is None else parse_device_tree(blob)
    if properties is not None:
        items[Kind.DEVICE_TREE] = Items(properties, "flattened")
    else:
        error = files.closed(_TREE)
        lacks[Kind.DEVICE_TREE] = (
            f"{_TREE} cannot be read ({error})" if error else "its kernel was given none"
        )
    for kind in Kind:
        if kind not in items:
            lacks.setdefault(kind, "the board does not show them")
    return Side(name, "board", items, lacks, machine=machine_facts(known))


def _add_options(files: Files, items: dict[Kind, Items]) -> None:
    """Put the whole configuration in the place of the options that facts have."""
    path = find_configuration(files)
    data = files.data(path) if path is not None else None
    if data is not None:
        options = parse_options(unpack(data) if data.startswith(b"\x1f\x8b") else data)
        if options:
            items[Kind.OPTION] = Items(options, OPTIONS)


def _add_settings(snapshot: Snapshot, items: dict[Kind, Items]) -> None:
    """Add the settings that no fact has."""
    values: dict[str, str] = {}
    closed = set()
    for path, content in snapshot.files.items():
        if _SETTING_PATH.fullmatch(path) is None or _PASSING.fullmatch(path) is not None:
            continue
        if content.error is None and not content.truncated:
            values[path] = clean(decode(content.data))
        else:
            closed.add(path)
    values |= items[Kind.SETTING].values
    items[Kind.SETTING] = Items(values, FILES, lambda path: path not in closed)


def _add_interrupts(files: Files, items: dict[Kind, Items]) -> None:
    names = {row.label: row.name for row in read_rows(files)}
    rows = [
        (str(irq), names[str(irq)], cpus)
        for irq, cpus in sorted(read_affinities(files).items())
        if str(irq) in names
    ]
    if rows:
        items[Kind.AFFINITY] = affinity_items(rows)


def _add_threads(files: Files, items: dict[Kind, Items]) -> None:
    """Add real-time threads, and services: of systemd, else the programs that run."""
    tasks = [
        (task.name, task.policy if task.policy == "deadline" else f"{task.policy} {task.priority}")
        for task in read_realtime_tasks(files)
    ]
    if Kind.PRIORITY in items:
        items[Kind.PRIORITY] = Items(priority_values(tasks), items[Kind.PRIORITY].basis)
    for path in _SLICES:
        names = files.names(path) or []
        services = [name for name in names if name.endswith(".service")]
        if services:
            items[Kind.SERVICE] = Items(dict.fromkeys(services, "running"), "units of systemd")
            return
    programs = set()
    for (process, thread), path in files.match(STATS):
        match = _STAT.match(files.data(path) or b"")
        if process != thread or match is None:
            continue
        fields = match[3].split()
        # `fields` begins with field 4.
        kernel = len(fields) > 5 and fields[5].isdigit() and int(fields[5]) & _PF_KTHREAD
        name = clean(decode(match[2]), 32)
        if not kernel and not _OWN.startswith(name):
            programs.add(name)
    if programs:
        items[Kind.SERVICE] = Items(dict.fromkeys(sorted(programs), "running"), "programs")


def _add_packages(files: Files, items: dict[Kind, Items], lacks: dict[Kind, str]) -> None:
    lacks[Kind.PACKAGE] = "no database of dpkg or opkg"
    for path, manager in _STATUS.items():
        content = files.content(path)
        if content is None or content.error is not None:
            continue
        if content.truncated:
            lacks[Kind.PACKAGE] = f"{path} is too large"
            return
        items[Kind.PACKAGE] = Items(parse_status(content.data)[0], manager)
        return
