"""`whylate explain` of a benchmark: the findings of its figures."""

from __future__ import annotations

import msgspec

from whylate.cli.print_json import print_json
from whylate.recording.reader import Recording
from whylate.report.plain_console import plain_console


def explain_benchmark(recording: Recording, *, as_json: bool) -> int:
    """Print the findings of a recording, or that there are none; return the exit status."""
    from whylate.report.terminal.benchmark import print_findings
    from whylate.summary.workloads import summarize_benchmark

    summary = summarize_benchmark(
        recording.manifest, recording.repetitions, str(recording.directory)
    )
    if as_json:
        print_json(
            {
                "format": "whylate-findings",
                "version": 1,
                "trust": summary.trust.verdict,
                "trust_reasons": summary.trust.reasons,
                "findings": msgspec.to_builtins(summary.findings),
            }
        )
    else:
        print_findings(summary, plain_console())
    return 0 if summary.findings and summary.trust.verdict == "ok" else 3
