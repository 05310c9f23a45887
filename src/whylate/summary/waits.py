"""What a watched program's threads waited for before they were woken: a distribution of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from whylate.recording.manifest import Manifest
from whylate.recording.waits import WaitBin, WaitReport, bin_edges
from whylate.summary.model import WaitFigures

#: No quantile is printed with fewer waits beyond it.
_LEAST_BEYOND = 10


def wait_figures(manifest: Manifest) -> list[WaitFigures]:
    """Return the figures of each group of waits, the longest total first; last what has no group.

    Many are sleeps that the program asked for, or a thread that has nothing to do: a long total is
    no fault.
    """
    names = {thread.pid: thread.name for thread in manifest.threads}

    def place(wait: WaitReport) -> tuple[bool, int]:
        return not wait.pid, -wait.total_ns

    return [_figures(wait, names.get(wait.pid)) for wait in sorted(manifest.waits, key=place)]


def wakeups_without_wait(manifest: Manifest) -> int:
    """Return how many wakeups were seen of which it is not known how long they were waited for."""
    seen = sum(account.seen for account in manifest.cpus)
    return max(0, seen - sum(wait.count for wait in manifest.waits)) if manifest.waits else 0


def _figures(wait: WaitReport, name: str | None) -> WaitFigures:
    call = wait.system_call_name or (
        f"system call {wait.system_call}" if wait.system_call is not None else None
    )
    return WaitFigures(
        pid=wait.pid or None,
        name=name,
        system_call=call,
        futex=f"{wait.futex:#x}" if wait.futex else None,
        state=wait.state,
        origin=wait.origin or None,
        waker=wait.waker or None,
        waker_name=wait.waker_name,
        count=wait.count,
        total_ns=wait.total_ns,
        p50_ns=_quantile(wait, Fraction(1, 2)),
        p99_ns=_quantile(wait, Fraction(99, 100)),
        max_ns=wait.longest_ns,
    )


def _quantile(wait: WaitReport, share: Fraction) -> int | None:
    """Return the middle of the bin with the smallest wait that so many are no longer than, ns.

    Its bias is at most half a bin: 3.2 %. None with fewer than 10 waits beyond it.
    """
    if wait.count * (1 - share) < _LEAST_BEYOND:
        return None
    low, high = bin_edges(_bin_at(wait.bins, -int(-wait.count * share // 1)))
    return min((low + high - 1) // 2, wait.longest_ns)


def _bin_at(bins: Sequence[WaitBin], rank: int) -> int:
    """Return the bin of the wait of this rank, from 1."""
    for part in bins:
        rank -= part.count
        if rank <= 0:
            return part.bin
    return bins[-1].bin
