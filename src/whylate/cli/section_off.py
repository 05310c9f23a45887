"""`whylate section irqs-off`: for how long are interrupts disabled, and by whom?"""

from __future__ import annotations

import sys

from whylate.cli.report.benchmark import show_benchmarks
from whylate.cli.run_options import RunOptions, make_runs
from whylate.run.workloads.off import DEFAULT_PERIOD_NS, off_workload


def sample_off(what: str, duration_ns: int, period_ns: int | None, options: RunOptions) -> None:
    """Sample on each board for how long it is disabled, print it, and exit."""
    workload = off_workload(what, duration_ns, period_ns or DEFAULT_PERIOD_NS)
    outcomes = make_runs(workload, options)
    sys.exit(show_benchmarks(outcomes, as_json=options.as_json))
