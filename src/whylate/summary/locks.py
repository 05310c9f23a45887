"""Waits for locks in a section: by lock and callers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from whylate.recording.sections import LockReport
from whylate.summary.model import LockFigures, MainLock

#: What records a wait, or only locks for its caller: no place in the code that waits.
_LOCKING = re.compile(
    r"bpf_prog_|bpf_trace_run|__bpf_trace|__traceiter|.*slowpath|.*slowlock|_raw_|__raw_|"
    r"(__)?(ww_)?mutex_lock|(__)?down(_|$)|(__)?rwsem_|(__)?rt_mutex|(__)?rt_(spin|read|write)|"
    r"queued_(spin|read|write)_lock|(__)?percpu_down|__pv_|__lock_text|lock_sock_nested$"
)
#: The only caller where no name is known.
UNKNOWN = "?"
#: A lock has most of the waits from this part of them on.
_MOST_WAITS = 0.5
#: LCB_F_ of linux/lock.h.
_SPIN, _READ, _WRITE, _RT, _PERCPU, _MUTEX = (1 << bit for bit in range(6))


def lock_figures(locks: Sequence[LockReport]) -> list[LockFigures]:
    """Return the groups of waits, the longest total first; those with the same callers are one."""
    groups: dict[tuple[str, ...], LockFigures] = {}
    for lock in locks:
        figures = LockFigures(
            lock=_lock(lock),
            kind=_kind(lock.flags) if lock.callers else "",
            callers=_callers(lock.callers),
            count=lock.count,
            total_ns=lock.total_ns,
            longest_ns=lock.longest_ns,
        )
        key = (figures.kind, *figures.callers)
        groups[key] = _merge(groups[key], figures) if key in groups else figures
    return sorted(groups.values(), key=lambda lock: -lock.total_ns)


def main_lock(groups: Sequence[LockFigures], waited_ns: int) -> MainLock | None:
    """Return the group that has most of some executions' waits, or None where that is not known.

    groups: of waits in all executions. waited_ns: for how long those executions waited. Of that no
    more can be for other locks than all waits for these. A group without callers is of several.
    """
    if not groups or waited_ns <= 0 or not groups[0].callers:
        return None
    others_ns = sum(group.total_ns for group in groups[1:])
    share = 1 - others_ns / waited_ns
    first = groups[0]
    if share < _MOST_WAITS:
        return None
    return MainLock(share, first.lock, first.kind, first.callers)


def _merge(first: LockFigures, second: LockFigures) -> LockFigures:
    return msgspec.structs.replace(
        first,
        lock=first.lock if first.lock == second.lock else None,
        count=first.count + second.count,
        total_ns=first.total_ns + second.total_ns,
        longest_ns=max(first.longest_ns, second.longest_ns),
    )


def _lock(lock: LockReport) -> str | None:
    if lock.lock is None:
        return None
    name, _, rest = lock.name.partition("+")
    if name and rest.split(" ")[0] != "0x0":
        name = lock.name
    return name or f"0x{lock.lock % (1 << 64):x}"


def _callers(names: Sequence[str]) -> list[str]:
    """Return the callers of what locks: a name that is not known ends them."""
    plain_names = [name.split("+")[0] for name in names]
    first = next(
        (at for at, name in enumerate(plain_names) if name and not _LOCKING.match(name)), None
    )
    if first is None:
        return [name for name in plain_names if name][-1:] or [UNKNOWN] * bool(names)
    callers = plain_names[first:]
    return callers[: callers.index("")] if "" in callers else callers


def _kind(flags: int) -> str:
    access = " for reading" if flags & _READ else " for writing" if flags & _WRITE else ""
    if flags & _MUTEX:
        return "mutex"
    if flags & _PERCPU:
        return f"per-CPU semaphore{access}"
    if flags & _RT:
        return f"rt_mutex{access}"
    if flags & _SPIN:
        return f"{'rwlock' if access else 'spin lock'}{access}"
    return f"semaphore{access}"
