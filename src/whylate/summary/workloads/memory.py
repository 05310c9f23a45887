"""The figures of the benchmark `memory`, and what the pages behind its buffers show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whylate.quantities import format_count
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import Backing, Buffers, TurnReport
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.point_names import size_text
from whylate.summary.benchmarks.model import Fact, Finding, Measured, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of_turns,
)

ZERO_PAGE = "zero page"
HUGE_ZERO_PAGE = "huge zero page"
_NAMES = {
    "small": "small pages",
    "thp": "transparent huge pages",
    "hugetlb": "hugetlb pages",
}
_SOME_HUGE = "some transparent huge pages"
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

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return the pages that were used, which decide the figures, and what zero pages show."""
        notes = [point.note or str(point.facts.get("backing", "")) for point in points]
        different = list(dict.fromkeys(filter(None, notes)))
        return {
            "conditions": {"pages": " and ".join(different)} if different else {},
            "notes": ["GB/s of bytes copied, set or read: 10⁹ bytes, each counted once."],
            "findings": zero_page_findings(measured),
        }


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


@dataclass(frozen=True)
class Proof:
    """The proved backing. refused: why it is not what the plan asks for; "" where it is.

    source, target: what stands behind the buffers; "" where there is none. frames: different page
    frames of the source, or of the target where there is no source; None: not known.
    """

    source: str = ""
    target: str = ""
    frames: int | None = None
    pages: int = 0
    refused: str = ""


def prove(point: MemoryPoint, report: TurnReport) -> Proof:
    """Return what stood behind the buffers before the repetitions of a turn, and after."""
    if report.before is None or report.after is None:
        return Proof(refused="what stands behind the buffers is not known")
    first, last = _at(point, report.before), _at(point, report.after)
    if last.refused or first.refused:
        return last if last.refused else first
    if (first.source, first.target) != (last.source, last.target):
        return Proof(refused=f"what stands behind the buffers changed: first {_both(first)}, then "
                             f"{_both(last)}")  # fmt: skip
    return last


def _both(proof: Proof) -> str:
    return " and ".join(pages for pages in (proof.source, proof.target) if pages)


def _at(point: MemoryPoint, buffers: Buffers) -> Proof:
    source, target = buffers.source, buffers.target
    if (source is None) != (point.what == "set") or (target is None) != (
        point.what not in ("copy", "set")
    ):
        return Proof(refused="what stands behind the buffers is not known")
    untouched = point.source == "untouched" and point.what != "latency"
    names, refused = ["", ""], ""
    for at, (backing, zero) in enumerate(((source, untouched), (target, False))):
        if backing is not None:
            names[at], why = _name(point, backing, untouched=zero)
            refused = refused or (f"the {'target' if at else 'source'} {why}" if why else "")
    main = source or target
    return Proof(names[0], names[1], main.frames if main else None, main.pages if main else 0,
                 refused)  # fmt: skip


def _name(point: MemoryPoint, backing: Backing, *, untouched: bool) -> tuple[str, str]:
    """Return what stands behind one buffer, and why that is not what the plan asks for."""
    if backing.pages <= 0:
        return "", "has no pages"
    if backing.present < backing.pages:
        return "", f"has {backing.present} of its {backing.pages} pages in memory"
    if untouched and point.pages != "hugetlb":
        return _zero_page(point, backing)
    if point.pages == "as-set":
        return _as_set(point, backing), ""
    wanted = {"small": 0, "thp": backing.huge_bytes, "hugetlb": backing.hugetlb_bytes}[point.pages]
    if point.pages == "small" and (backing.huge_bytes or backing.hugetlb_bytes):
        huge = backing.huge_bytes or backing.hugetlb_bytes
        return "", f"has {huge >> 20} MiB in huge pages, and small ones were asked for"
    if point.pages != "small" and wanted < point.size:
        return "", (
            f"has {wanted >> 20} of {point.size >> 20} MiB in {_NAMES[point.pages]}"
            + (": is /sys/kernel/mm/transparent_hugepage/enabled never, or memory in pieces?"
               if point.pages == "thp" else "")
        )  # fmt: skip
    if backing.frames is not None and backing.frames != backing.pages:
        return "", f"has {backing.frames} frames behind {backing.pages} pages"
    return _NAMES[point.pages], ""


def small_pages_of_huge_one(page: int) -> int:
    """Return how many pages of so many bytes a huge page has.

    It is what one entry of the next table of pages points to: a page of entries of 8 bytes.
    """
    return page // 8


def _as_set(point: MemoryPoint, backing: Backing) -> str:
    """Return what the system's settings gave: nothing else was asked for."""
    if not backing.huge_bytes:
        return _NAMES["small"]
    return _NAMES["thp"] if backing.huge_bytes >= point.size else _SOME_HUGE


def _zero_page(point: MemoryPoint, backing: Backing) -> tuple[str, str]:
    if backing.frames is None:
        return "", "is untouched, and only root can see whether the zero page backs it"
    huge = min(small_pages_of_huge_one(point.size // backing.pages), backing.pages)
    if point.pages != "thp" and backing.frames == 1:
        return ZERO_PAGE, ""
    if point.pages != "small" and backing.frames == huge:
        return HUGE_ZERO_PAGE, ""
    if point.pages == "as-set" and backing.frames < backing.pages:
        # Huge ones as far as they fit, and the small one at the ends.
        return HUGE_ZERO_PAGE, ""
    return "", (
        f"was to be the {'huge ' if point.pages == 'thp' else ''}zero page, and has "
        f"{backing.frames} frames behind {backing.pages} pages"
    )
