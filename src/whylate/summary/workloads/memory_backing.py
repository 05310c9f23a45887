"""Prove what stands behind a buffer, and whether the plan asks for that."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.recording.turns import Backing, Buffers, TurnReport
from whylate.recording.workloads.memory import MemoryPoint

ZERO_PAGE = "zero page"
HUGE_ZERO_PAGE = "huge zero page"
_NAMES = {
    "small": "small pages",
    "thp": "transparent huge pages",
    "hugetlb": "hugetlb pages",
}
_SOME_HUGE = "some transparent huge pages"


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
        return _untouched(point, backing)
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


def _untouched(point: MemoryPoint, backing: Backing) -> tuple[str, str]:
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
