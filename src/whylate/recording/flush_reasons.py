"""Why a CPU flushes translations, as the kernel's tracepoint tlb:tlb_flush reports it."""

from __future__ import annotations

#: enum tlb_flush_reason of linux/mm_types.h, in its order.
FLUSH_REASONS = (
    "task switch", "remote shootdown", "local shootdown", "local mm shootdown", "remote IPI send",
    "remote wrong CPU",
)  # fmt: skip
