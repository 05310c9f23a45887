"""The figures of the benchmark `memory`, and what the pages behind its buffers show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from whylate.quantities import format_count
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.point_names import size_text
from whylate.summary.benchmarks.model import Fact, Finding, Measured, NetworkFigures, PointFigures
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of_turns,
)
from whylate.summary.workloads.memory_backing import HUGE_ZERO_PAGE, ZERO_PAGE, prove

#: Copies from the two zero pages are a finding where they surely differ by this factor.
_APART = 1.3


class MemorySummarizer(BenchmarkSummarizer):
    """Bytes per second, or ns per read, of a buffer whose pages are proved."""

    title = "How fast memory is"
    counts_per = "pass"
    swept = ("size", "size of the buffer")
    positive = ("passes", "ns")
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "gb_per_s": FigureKind("GB/s", "GB/s", higher_is_better=True, plot="GB/s"),
        "ns_per_read": FigureKind("ns/read", "ns", plot="ns per read"),
    }

    def measure(
        self, point: MemoryPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return the throughput or the latency, and the pages behind the buffers."""
        proofs = [prove(point, report) for report in reports if not report.error]
        refused = next((proof.refused for proof in proofs if proof.refused), None)
        behind = {(proof.source, proof.target) for proof in proofs}
        if len(behind) > 1 and not refused:
            texts = sorted(" and ".join(filter(None, pages)) for pages in behind)
            refused = f"the pages behind the buffers differ between rounds: {', '.join(texts)}"
        if refused:
            return Measurement(refused=refused)
        facts: dict[str, Fact] = {}
        note = ""
        if proofs:
            proof = proofs[-1]
            facts = {
                "backing": proof.source or proof.target,
                "target_backing": proof.target or None,
                "frames": proof.frames,
                "pages": proof.pages,
            }
            if proof.source in (ZERO_PAGE, HUGE_ZERO_PAGE):
                kind = "write" if point.what == "copy" else "read"
                note = f"{kind} bandwidth ({proof.source})"
        ns, passes = rows.column("ns").astype(float), rows.column("passes").astype(float)
        figures = (
            {"ns_per_read": median_of_turns(rows, ns / passes)}
            if point.what == "latency"
            else {"gb_per_s": median_of_turns(rows, passes * point.size / ns)}
        )
        return Measurement(figures, facts, note=note)

    def work(self, rows: Repetitions) -> Floats:
        """Return the passes of each row."""
        return rows.column("passes").astype(np.float64)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return the pages behind the buffers."""
        frames, backing = facts.get("frames"), facts.get("backing")
        if backing is None:
            return {"pages": "–", "": note}
        count = ""
        if isinstance(frames, int):
            count = f", {format_count(frames)} frame{'' if frames == 1 else 's'}"
        target = facts.get("target_backing") or backing
        # An untouched source never has the pages of its target.
        other = "" if target == backing or note else f"; target: {target}"
        return {"pages": f"{backing}{count}{other}", "": note}

    @classmethod
    def place_text(cls, value: int) -> str:
        """Format a size."""
        return size_text(value)

    def conditions(self, points: Sequence[PointFigures]) -> dict[str, str]:
        """Return the pages that were used, which decide the figures."""
        notes = [point.note or str(point.facts.get("backing", "")) for point in points]
        different = list(dict.fromkeys(note for note in notes if note))
        return {"pages": " and ".join(different)} if different else {}

    def notes(self, points: Sequence[PointFigures]) -> list[str]:
        """Say how bytes are counted."""
        del points
        return ["GB/s of bytes copied, set or read: 10⁹ bytes, each counted once."]

    def findings(
        self, points: Sequence[PointFigures], networks: Sequence[NetworkFigures]
    ) -> list[Finding]:
        """Return what zero pages show."""
        del networks
        return zero_page_findings(points)


def zero_page_findings(points: Sequence[PointFigures]) -> list[Finding]:
    """Name sources that were never written, and compare copies from the two zero pages."""
    return [*_untouched(points), *_zero_pages(points)]


def _untouched(points: Sequence[PointFigures]) -> list[Finding]:
    pages = {
        ZERO_PAGE: "one page of zeros, of 4 KiB",
        HUGE_ZERO_PAGE: "one huge page of zeros, of 2 MiB",
    }
    findings = []
    for backing, page in pages.items():
        names = [point.name for point in points if point.facts.get("backing") == backing]
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            text = (
                f"{names[0]}{more}: nothing was ever written to the source, and all of it is "
                f"{page}: this is how fast the target is written; --source random reads data"
            )
            findings.append(Finding("zero-page", text))
    return findings


def _zero_pages(points: Sequence[PointFigures]) -> list[Finding]:
    """Compare copies from the two zero pages, and the same once the source was written."""
    rates: dict[tuple[str, int, str], dict[str, Measured]] = defaultdict(dict)
    for figures in points:
        point = figures.point
        if isinstance(point, MemoryPoint) and "gb_per_s" in figures.figures:
            if point.what != "copy":
                continue
            written = "untouched" if point.source == "untouched" else "written"
            backing = str(figures.facts.get("target_backing"))
            rates[written, point.size, point.routine][backing] = figures.figures["gb_per_s"]
    findings = []
    for (written, size, routine), by_backing in rates.items():
        small, huge = (by_backing.get(name) for name in ("small pages", "transparent huge pages"))
        if written != "untouched" or small is None or huge is None:
            continue
        if small.low is None or huge.high is None or small.low < _APART * huge.high:
            continue
        text = (
            f"copying {size_text(size)} from the small page of zeros into small pages is × "
            f"{small.value / huge.value:.2f} as fast as from the huge one into huge pages"
        )
        again = rates.get(("written", size, routine), {})
        pair = [again.get(name) for name in ("small pages", "transparent huge pages")]
        if pair[0] and pair[1]:
            text += f"; once the source is written it is × {pair[0].value / pair[1].value:.2f}"
        findings.append(Finding("two-zero-pages", text))
    return findings
